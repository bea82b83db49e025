/** Attributes of a message, moved into few attributes of its letter: there may be too many of them, or some that a topic refuses. */
import type { Attributes } from "../message.ts";
import { cutToBytes, maxValueBytes, takesAttribute } from "./attribute-limits.ts";
import type { Attribute } from "./letter-attributes.ts";

/** Names the attributes for which there was no room: how many, and which. */
const leftOutName = "millrace_attributes_left_out";

/** One attribute of the letter, with the names of the message's attributes that it carries. */
interface Carrier {
  readonly attribute: Attribute;
  readonly names: readonly string[];
}

/**
 * Moves attributes into JSON objects of at most 1,024 bytes: `millrace_attributes_1`, `millrace_attributes_2`, … One that is
 * too large for that stays as it is. What there is no room for is left out and named.
 *
 * @param room the number of attributes that may become of them
 */
export function packAttributes(original: Attributes, room: number): Attributes {
  const { carriers, homeless } = carriersOf(original);
  const mustLeave = homeless.length > 0 || carriers.length > room;
  const kept = mustLeave ? carriers.slice(0, Math.max(0, room - 1)) : carriers;
  const packed = new Map(kept.map(({ attribute }) => attribute));
  const left = [...homeless, ...carriers.slice(kept.length).flatMap(({ names }) => names)];
  return mustLeave && room > 0 ? packed.set(leftOutName, leftOut(left)) : packed;
}

/** In place of attributes for none of which there is room. */
export function leaveOutAll(original: Attributes): Attributes {
  return new Map(original.size === 0 ? [] : [[leftOutName, leftOut([...original.keys()])]]);
}

function leftOut(names: readonly string[]): string {
  return cutToBytes(`${names.length}: ${names.join(", ")}`, maxValueBytes);
}

function carriersOf(original: Attributes): { readonly carriers: readonly Carrier[]; readonly homeless: string[] } {
  const large: Carrier[] = [];
  const homeless: string[] = [];
  const objects: { json: string; names: string[] }[] = [];
  for (const attribute of original) {
    const [key, value] = attribute;
    const member = `${JSON.stringify(key)}:${JSON.stringify(value)}`;
    if (Buffer.byteLength(member) + 2 > maxValueBytes) {
      if (takesAttribute(key, value)) large.push({ attribute, names: [key] });
      else homeless.push(key);
      continue;
    }
    const last = objects.at(-1);
    if (last && Buffer.byteLength(last.json) + Buffer.byteLength(member) + 3 <= maxValueBytes) {
      last.json += `,${member}`;
      last.names.push(key);
    } else objects.push({ json: member, names: [key] });
  }
  const taken = new Set(large.flatMap(({ names }) => names));
  const names = freeNames(taken);
  const packed = objects.map(({ json, names: moved }): Carrier => {
    return { attribute: [names.next().value, `{${json}}`], names: moved };
  });
  return { carriers: [...packed, ...large], homeless };
}

function* freeNames(taken: ReadonlySet<string>): Generator<string, never> {
  for (let n = 1; ; n++) {
    const name = `millrace_attributes_${n}`;
    if (!taken.has(name)) yield name;
  }
}
