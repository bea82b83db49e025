/**
 * The attributes of a letter, in forms that yield more and more to the limits of the service. First what we add beside the
 * needed gives way, then the message's attributes are moved into few. The body is never changed.
 */
import type { Attributes } from "../message.ts";
import { fits, maxAttributes } from "./attribute-limits.ts";
import type { AddedAttributes, Attribute } from "./letter-attributes.ts";
import { leaveOutAll, packAttributes } from "./packed-attributes.ts";

/** What a letter says in place of the message is kept under the name with this in front. */
const displacedPrefix = "millrace_original_";

/**
 * The attributes of a message that a letter carries on: those whose names the letter has a use for move aside. Of an earlier letter of
 * ours they give way to what is said now.
 */
export function carriedAttributes(message: Attributes, added: AddedAttributes, isLetter: boolean): Attributes {
  const ours = new Set([...added.least, ...added.needed, ...added.extras].map(([key]) => key));
  const carried = new Map<string, string>();
  for (const [key, value] of message) {
    if (!ours.has(key)) carried.set(key, value);
    else if (!isLetter) carried.set(displacedPrefix + key, value);
  }
  return carried;
}

/**
 * Yields the form to publish; then, should the topic refuse it, the next one; and so on. What would not be taken anyway is
 * left out, but for the last form, which is tried whatever its size.
 *
 * @param original  what is carried on of the message's attributes
 * @param roomBytes how many bytes all attributes may take in the message's encoding
 */
export function* letterForms(original: Attributes, added: AddedAttributes, roomBytes: number): Generator<Attributes> {
  const { least, needed, extras } = added;
  const all = [...least, ...needed];
  const inPlace = withExtras(original, all, extras, roomBytes);
  yield* inPlace;
  if (original.size > 0) {
    const packed = packAttributes(original, maxAttributes - all.length);
    const moved = withExtras(packed, all, extras, roomBytes);
    // After a refusal of what has no extras any more there is no use in bringing them back.
    yield* inPlace.length > 0 ? moved.slice(-1) : moved;
    const fewest = new Map([...packed, ...least]);
    if (fits(fewest, roomBytes)) yield fewest;
  }
  yield new Map([...leaveOutAll(original), ...least]);
}

/** With as many extras as there is room for, then with none; nothing when there is no room even so. */
function withExtras(
  original: Attributes,
  needed: readonly Attribute[],
  extras: readonly Attribute[],
  roomBytes: number,
): readonly Attributes[] {
  const withCount = (count: number): Attributes => new Map([...original, ...needed, ...extras.slice(0, count)]);
  for (let count = extras.length; count > 0; count--) {
    const attributes = withCount(count);
    if (fits(attributes, roomBytes)) return [attributes, withCount(0)];
  }
  return fits(withCount(0), roomBytes) ? [withCount(0)] : [];
}
