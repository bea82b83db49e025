/** A message that is itself a dead letter of Millrace: one that came back, by a person's hand or in a circle. */
import type { Attributes } from "../message.ts";

/** What the letter says of the message that it was made of at first. */
export interface EarlierLetter {
  /** How often the message was delivered in all its lives. */
  readonly deliveryCount: number;
  readonly messageId: string | undefined;
  /** Microseconds since 1970-01-01 UTC, as text. */
  readonly publishTime: string | undefined;
  /** Why it was refused for the first time: code and path. */
  readonly firstError: string;
}

/** Undefined for a message that Millrace has not dead-lettered yet. */
export function earlierLetter(attributes: Attributes): EarlierLetter | undefined {
  const code = attributes.get("millrace_error_code");
  const count = attributes.get("CloudPubSubDeadLetterSourceDeliveryCount");
  if (code === undefined || count === undefined || !/^\d{1,9}$/.test(count)) return undefined;
  const path = attributes.get("millrace_error_path") ?? "";
  return {
    deliveryCount: Number(count),
    messageId: attributes.get("millrace_message_id"),
    publishTime: attributes.get("millrace_publish_time"),
    firstError: attributes.get("millrace_first_error") ?? (path === "" ? code : `${code} at ${path}`),
  };
}
