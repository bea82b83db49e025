/**
 * `${VAR}` and `${VAR:-default}` in a text that is parsed as YAML.
 *
 * A reference is hidden behind characters that mean nothing to YAML before the text is parsed, and filled in afterwards, scalar by scalar.
 * So a value can never change the structure of the file, references may stand in flow maps (`{ topic: ${TOPIC} }`), and one in a comment is no reference.
 */

export type Environment = Readonly<Record<string, string | undefined>>;

/** `$${` stands for a plain `${`. */
const reference = /\$\$\{|\$\{[^}\n]*\}?/g;
const wellFormed = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}$/;

/** Private-use characters: one that begins a hidden reference, one that fills it up, and the first of those that number it. */
const mark = "\uE000";
const filler = "\uE001";
const firstNumber = 0xe100;
const maxReferences = 0xf8ff - firstNumber;
const hidden = /\uE000([\uE100-\uF8FF])\uE001*/g;

export interface HiddenReferences {
  /** The text with every reference hidden; as long as before, so that positions stay true. */
  readonly text: string;
  readonly references: readonly string[];
}

/** Hides the references of a text that is about to be parsed as YAML. */
export function hideReferences(text: string): HiddenReferences {
  const references: string[] = [];
  const hide = (found: string): string => {
    if (references.length > maxReferences) return found;
    references.push(found);
    return (mark + String.fromCharCode(firstNumber + references.length - 1)).padEnd(found.length, filler);
  };
  return { text: text.replace(reference, hide), references };
}

/** A scalar with its references filled in, or what is wrong with them. */
export type Filled = { readonly value: string; readonly faults: readonly string[] };

/** Fills the hidden references of a scalar in. As in a shell, `:-` also stands in for a variable that is set but empty. */
export function fillReferences(scalar: string, references: readonly string[], environment: Environment): Filled {
  const faults: string[] = [];
  const fill = (_: string, number: string): string => {
    const found = references[number.charCodeAt(0) - firstNumber] ?? "";
    if (found === "$${") return "${";
    const [, name, fallback] = wellFormed.exec(found) ?? [];
    if (name === undefined) {
      faults.push("expected a reference of the form ${VAR} or ${VAR:-default}; $${ stands for a plain ${");
      return "";
    }
    const value = environment[name];
    if (fallback !== undefined) return value === undefined || value === "" ? fallback : value;
    if (value === undefined)
      faults.push(`the environment has no variable ${name}, and no default is given (\${${name}:-default})`);
    return value ?? "";
  };
  return { value: scalar.replace(hidden, fill), faults };
}

/** The scalar holds a hidden reference. */
export function hasReference(scalar: string): boolean {
  return scalar.includes(mark);
}
