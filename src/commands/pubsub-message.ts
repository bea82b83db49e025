/** A message in the REST form of `PubsubMessage`. */
import { TimeParts } from "../mapping/civil-time.ts";
import { readTimestamp } from "../mapping/time-literals.ts";
import type { LineMessage } from "./message-lines.ts";

/** Push requests spell some of the keys in both ways. */
const keys = new Set([
  "data",
  "attributes",
  "messageId",
  "message_id",
  "publishTime",
  "publish_time",
  "orderingKey",
  "ordering_key",
]);

/** In either alphabet, padded or not. */
const base64 = /^(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)={0,2}$/;

/** A single character of base64 is no byte. */
function isBase64(text: string): boolean {
  return base64.test(text) && text.replace(/=+$/, "").length % 4 !== 1;
}

/**
 * @param fallbackId stands in for a message that has no ID
 * @returns the message, or what keeps the text from being one
 */
export function parsePubsubMessage(text: string, fallbackId: string): LineMessage | string {
  const json = parseJson(text);
  if (typeof json !== "object" || json === null || Array.isArray(json)) return "expected a JSON object";
  const fields = new Map<string, unknown>(Object.entries(json));
  const unknown = [...fields.keys()].find((key) => !keys.has(key));
  if (unknown !== undefined) return "it has fields besides data, attributes, messageId, publishTime and orderingKey";
  const data = fields.get("data") ?? "";
  if (typeof data !== "string" || !isBase64(data)) return "data must be base64";
  const messageId = fields.get("messageId") ?? fields.get("message_id") ?? fallbackId;
  const orderingKey = fields.get("orderingKey") ?? fields.get("ordering_key") ?? "";
  if (!isText(messageId) || !isText(orderingKey)) return "messageId and orderingKey must be text";
  const publishTimeMicros = parseTime(fields.get("publishTime") ?? fields.get("publish_time"));
  if (publishTimeMicros === undefined) return "publishTime must be a time such as 2024-01-02T03:04:05.678Z";
  const attributes = parseAttributes(fields.get("attributes") ?? {});
  if (!attributes) return "attributes must be an object of texts";
  return { data: Buffer.from(data, "base64"), messageId, publishTimeMicros, attributes, orderingKey };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Protobuf's texts are Unicode: half a surrogate pair cannot be in one. */
function isText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed();
}

/** Microseconds since 1970; that moment when there is no time. */
function parseTime(value: unknown): bigint | undefined {
  if (value === undefined) return 0n;
  if (typeof value !== "string") return undefined;
  const bytes = Buffer.from(value);
  const parts = new TimeParts();
  if (!readTimestamp(bytes, 0, bytes.length, parts) || parts.zone !== undefined) return undefined;
  return BigInt(parts.localSeconds - parts.offset) * 1_000_000n + BigInt(parts.microsecond);
}

function parseAttributes(value: unknown): ReadonlyMap<string, string> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const attributes = new Map<string, string>();
  for (const [key, item] of Object.entries(value)) {
    if (!isText(key) || !isText(item)) return undefined;
    attributes.set(key, item);
  }
  return attributes;
}
