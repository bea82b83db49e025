/** What Pub/Sub says of a call that fails, as it may stand in a log or on a page: whoever has an ack id can ack the message. */
import type { AckRequest } from "./ack-requests.ts";

/** In place of an ack id. */
const mask = "[ack id]";

/** Looks like an ack id, or a part of one: they have some 170 characters of this alphabet. */
const opaque = /[\w-]{80,}/g;

/**
 * The words without what looks like an ack id.
 *
 * @param request whose own ids are left out whatever they look like
 */
export function withoutAckIds(words: string, request?: AckRequest): string {
  let rest = words;
  for (const { start, end } of request?.idRanges() ?? []) {
    const id = request!.bytes.toString("utf8", start, end);
    if (id.length > 0) rest = rest.replaceAll(id, mask);
  }
  return rest.replaceAll(opaque, mask);
}
