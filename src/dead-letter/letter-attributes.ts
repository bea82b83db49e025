/** What a dead letter says about its message: the attributes that Pub/Sub's own dead-lettering adds, and ours. */
import type { Refusal } from "../errors.ts";
import { cutToBytes, maxValueBytes } from "./attribute-limits.ts";
import type { EarlierLetter } from "./earlier-letter.ts";

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
  /** The message is itself a letter. */
  readonly earlier: EarlierLetter | undefined;
}

export type Attribute = readonly [key: string, value: string];

/** What a letter adds to the attributes of its message. */
export interface AddedAttributes {
  /** Without these a letter cannot be told from another message, and could run in circles. */
  readonly least: readonly Attribute[];
  /** These tell where the message came from, and what is wrong with it. */
  readonly needed: readonly Attribute[];
  /** These give way when there is no room, the last ones first. */
  readonly extras: readonly Attribute[];
}

/**
 * Of a message that came back as a letter, the id, the publish time and the first error are those of its first life. The
 * present error, and all that Pub/Sub's own attributes tell but the count, are of this one.
 */
export function addedAttributes(subject: LetterSubject, refusal: Refusal, origin: LetterOrigin): AddedAttributes {
  const [, project = "", , subscriptionId = ""] = origin.subscription.split("/");
  const { earlier, messageId, publishTimeMicros, deliveryAttempt } = subject;
  const deliveryCount = earlier ? earlier.deliveryCount + 1 : Math.max(1, deliveryAttempt);
  return {
    least: cut([
      ["millrace_error_code", refusal.code],
      ["CloudPubSubDeadLetterSourceDeliveryCount", String(deliveryCount)],
    ]),
    needed: cut([
      ["millrace_error_path", refusal.path],
      ["millrace_message_id", earlier?.messageId ?? messageId],
      ["millrace_publish_time", earlier?.publishTime ?? String(publishTimeMicros)],
      ["millrace_pipeline", origin.pipeline],
      ["CloudPubSubDeadLetterSourceSubscription", subscriptionId],
    ]),
    extras: cut([
      ["CloudPubSubDeadLetterSourceDeliveryErrorMessage", errorMessage(refusal)],
      ["millrace_stage", refusal.stage],
      ["CloudPubSubDeadLetterSourceSubscriptionProject", project],
      ["CloudPubSubDeadLetterSourceTopicPublishTime", timestamp(publishTimeMicros)],
      ...(earlier ? [["millrace_first_error", earlier.firstError] as const] : []),
    ]),
  };
}

function cut(attributes: readonly Attribute[]): Attribute[] {
  return attributes.map(([key, value]) => [key, cutToBytes(value, maxValueBytes)]);
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
