/**
 * What a dead letter says about its message: the attributes that Pub/Sub's own dead-lettering adds, and ours.
 * They yield to the limits of the service; what the message itself carries never does.
 */
import type { Refusal } from "../errors.ts";
import { fieldBytes } from "../lib/wire-format.ts";
import type { Attributes } from "../message.ts";

/** Limits of the service. */
const maxAttributes = 100;
const maxValueBytes = 1024;

/** Shows where a value was cut. */
const cutMark = "…";

/** Where letters come from. */
export interface LetterOrigin {
  /** `projects/P/subscriptions/S` */
  readonly subscription: string;
  /** Name of the pipeline in the configuration. */
  readonly pipeline: string;
}

/** What is told of a message besides its refusal. */
export interface LetterSubject {
  readonly messageId: string;
  readonly publishTimeMicros: bigint;
  /** 0 when the subscription does not count. */
  readonly deliveryAttempt: number;
}

type Attribute = readonly [key: string, value: string];

/** The added attributes, the most needed first: when there is no room for all, the last ones go first. */
export function addedAttributes(subject: LetterSubject, refusal: Refusal, origin: LetterOrigin): Attribute[] {
  const [, project = "", , subscriptionId = ""] = origin.subscription.split("/");
  const added: Attribute[] = [
    ["millrace_error_code", refusal.code],
    ["millrace_error_path", refusal.path],
    ["millrace_message_id", subject.messageId],
    ["millrace_publish_time", String(subject.publishTimeMicros)],
    ["CloudPubSubDeadLetterSourceDeliveryErrorMessage", errorMessage(refusal)],
    ["millrace_stage", refusal.stage],
    ["millrace_pipeline", origin.pipeline],
    ["CloudPubSubDeadLetterSourceDeliveryCount", String(Math.max(1, subject.deliveryAttempt))],
    ["CloudPubSubDeadLetterSourceSubscription", subscriptionId],
    ["CloudPubSubDeadLetterSourceSubscriptionProject", project],
    ["CloudPubSubDeadLetterSourceTopicPublishTime", timestamp(subject.publishTimeMicros)],
  ];
  return added.map(([key, value]) => [key, cutToBytes(value, maxValueBytes)]);
}

/**
 * Adds attributes to those of the message, in place of equal keys, as far as the service's limits leave room.
 *
 * @param roomBytes how many bytes all attributes may take in the message's encoding
 */
export function withAdded(original: Attributes, added: readonly Attribute[], roomBytes: number): Attributes {
  const kept = withinCount(original, added);
  for (;;) {
    const merged = new Map([...original, ...kept]);
    if (kept.length === 0 || encodedBytes(merged) <= roomBytes) return merged;
    kept.pop();
  }
}

/** Leaves out new keys, from the end, until no more than 100 attributes are left; a replacement takes no place. */
function withinCount(original: Attributes, added: readonly Attribute[]): Attribute[] {
  let room = maxAttributes - original.size;
  return added.filter(([key]) => original.has(key) || room-- > 0);
}

/** BigQuery's own words are told here and nowhere else: they may quote the row. */
function errorMessage({ code, path, message, serverMessage }: Refusal): string {
  const where = path === "" ? "" : ` at ${path}`;
  const quoted = serverMessage === undefined ? "" : ` BigQuery says: ${serverMessage}`;
  return `${code}${where}: ${message}${quoted}`;
}

/** As the service writes it: `2026-08-24T10:35:14.812+00:00`. */
function timestamp(micros: bigint): string {
  return new Date(Number(micros / 1000n)).toISOString().replace("Z", "+00:00");
}

/** The longest beginning of a text that takes at most so many bytes of UTF-8, its cut marked. */
export function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes - Buffer.byteLength(cutMark);
  while (isContinuation(bytes[end]!)) end--;
  return bytes.toString("utf8", 0, end) + cutMark;
}

/** UTF-8: a byte within a character. */
function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Bytes that attributes take in an encoded PubsubMessage. */
export function encodedBytes(attributes: Attributes): number {
  let bytes = 0;
  for (const [key, value] of attributes) bytes += fieldBytes(textBytes(key) + textBytes(value));
  return bytes;
}

function textBytes(text: string): number {
  return fieldBytes(Buffer.byteLength(text));
}
