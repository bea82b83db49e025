import { PulledBatch } from "../../src/source/pulled-batch.ts";
import { encodeResponse } from "./fake-subscriber.ts";

/** Messages by names such as `a1`: key `a`, ID and ack id are the name. A number alone has no key. */
export function pulled(...names: string[]): PulledBatch {
  const messages = names.map((name) => ({
    ackId: name,
    messageId: name,
    orderingKey: name.replace(/\d+$/, ""),
  }));
  return PulledBatch.parse(encodeResponse(messages));
}

/** The names of some messages of a batch, or of all. */
export function namesOf(batch: PulledBatch, messages: Iterable<number> = Array(batch.length).keys()): string[] {
  return [...messages].map((i) => batch.messageId(i));
}
