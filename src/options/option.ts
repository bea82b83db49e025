/**
 * The kinds of option that a configuration is described with. Each gives a zod schema that says what it expected when it is not met,
 * and carries what documentation needs: `description`, `form` (its type and bounds, for a person), `hidden` (not documented).
 */
import { z } from "zod";
import { durationPattern, parseDuration, parseSize, sizePattern } from "./units.ts";

/** Parameters of a zod schema: the message of its faults. */
interface Expectation {
  readonly error: (issue: { readonly input?: unknown }) => string;
}

type Kind = "text" | "a number" | "a boolean" | "a list" | "a map";

/** "is missing" or "expected …", with the kind of what stands there instead where that says more, never the value. */
export function expected(what: string, kind: Kind = "text"): Expectation {
  return {
    error: ({ input }) => {
      if (input === undefined) return `is missing: expected ${what}`;
      return kindOf(input) === kind ? `expected ${what}` : `expected ${what}; got ${kindOf(input)}`;
    },
  };
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  if (typeof value === "string") return value === "" ? "empty text" : "text";
  return `a ${typeof value}`;
}

/** A map of options; unknown keys are faults. @param what was expected, when there is no map */
export function map<const T extends z.ZodRawShape>(shape: T, what = "a map"): z.ZodObject<T, z.core.$strict> {
  return z.strictObject(shape, expected(what, "a map"));
}

/** A map that is off unless the file names it; the defaults of its options count from then on. */
export function optionalMap<const T extends z.ZodRawShape>(
  shape: T,
  description: string,
): z.ZodExactOptional<z.ZodObject<T, z.core.$strict>> {
  return map(shape, "a map of its options, or null to leave it off")
    .exactOptional()
    .meta({ description, form: "a map; off unless it is there" });
}

/** True or false; false unless set. */
export function flag(description: string): z.ZodPrefault<z.ZodBoolean> {
  return z.boolean(expected("true or false", "a boolean")).prefault(false).meta({ description, form: "true | false" });
}

/** One of some words; the first is the default unless another is named. */
export function choice<const T extends readonly [string, ...string[]]>(
  words: T,
  description: string,
  initial: T[number] = words[0],
): z.ZodPrefault<z.ZodEnum<{ [K in T[number]]: K }>> {
  const schema = z.enum(words as readonly [T[number], ...T[number][]], expected(`one of ${words.join(", ")}`));
  return schema.prefault(initial).meta({ description, form: words.join(" | ") });
}

/** Text of a form. @param what the form in words: what a person is told was expected */
export function text(pattern: RegExp, what: string, description: string): z.ZodString {
  return z.string(expected(what)).regex(pattern, expected(what)).meta({ description, form: what });
}

interface WholeBounds {
  readonly min: number;
  readonly max: number;
}

/** A whole number between two bounds, both included. */
export function whole(initial: number, { min, max }: WholeBounds, description: string): z.ZodPrefault<z.ZodInt> {
  const error = expected(`a whole number from ${min} to ${max}`, "a number");
  return z
    .int(error)
    .min(min, error)
    .max(max, error)
    .prefault(initial)
    .meta({ description, form: `${min} – ${max}` });
}

/** A share of more than nothing, from 0 to 1; written in percent, such as `50%`. */
export function percentage(
  initial: string,
  description: string,
): z.ZodPrefault<z.ZodPipe<z.ZodString, z.ZodTransform<number, string>>> {
  const error = expected("a percentage from 1% to 100%");
  return z
    .string(error)
    .regex(/^([1-9]\d?|100)%$/, error)
    .transform((text) => Number(text.slice(0, -1)) / 100)
    .prefault(initial)
    .meta({ description, form: "percentage, 1% – 100%" });
}

interface TextBounds {
  readonly min: string;
  readonly max: string;
  /** A word that stands for infinity. */
  readonly or?: string;
}

type Measured = z.ZodPrefault<z.ZodPipe<z.ZodString, z.ZodTransform<number, string>>>;

/** Milliseconds; `or` is Infinity. */
export function duration(initial: string, bounds: TextBounds, description: string): Measured {
  return measured("duration", { pattern: durationPattern, parse: parseDuration, initial }, bounds, description);
}

/** Bytes. */
export function size(initial: string, bounds: TextBounds, description: string): Measured {
  return measured("size", { pattern: sizePattern, parse: parseSize, initial }, bounds, description);
}

interface Measure {
  readonly pattern: RegExp;
  readonly parse: (text: string) => number | undefined;
  readonly initial: string;
}

function measured(kind: string, measure: Measure, { min, max, or }: TextBounds, description: string): Measured {
  const { pattern, parse, initial } = measure;
  const example = initial === or ? max : initial;
  const error = expected(`a ${kind} from ${min} to ${max} such as ${example}${or ? `, or ${or}` : ""}`);
  const amount = (text: string): number => (text === or ? Infinity : (parse(text) ?? Number.NaN));
  const inside = (text: string): boolean => text === or || (amount(text) >= parse(min)! && amount(text) <= parse(max)!);
  const form = or ? new RegExp(`^${or}$|${pattern.source}`) : pattern;
  return z
    .string(error)
    .regex(form, { ...error, abort: true })
    .refine(inside, error)
    .transform(amount)
    .prefault(initial)
    .meta({ description, form: `${kind}, ${min} – ${max}${or ? `, or ${or}` : ""}` });
}

/** An option that a later version brings: only its default may stand there, and it is not documented. */
export function notYet<const T extends boolean | number | string>(initial: T): z.ZodDefault<z.ZodLiteral<T>>;
export function notYet(): z.ZodOptional<z.ZodUndefined>;
export function notYet(initial?: boolean | number | string): z.ZodType {
  const error = (): string => "is not there yet: a later version of Millrace brings it";
  const schema =
    initial === undefined ? z.undefined({ error }).optional() : z.literal(initial, { error }).default(initial);
  return schema.meta({ hidden: true });
}

/**
 * For `when` of a rule over several options of a map: the rule is looked at even if there are other faults, so that all are
 * reported together. It must hold when an option it speaks of is missing or has a fault of its own.
 */
export function isMap({ value }: { readonly value: unknown }): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
