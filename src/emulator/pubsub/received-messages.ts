/** Responses with messages, spliced together from the bytes of the stored messages. */
import { varintWidth, writeVarint } from "../../lib/wire-format.ts";
import type { AckIds } from "./ack-ids.ts";
import type { Delivery } from "./delivery.ts";
import { byteLength } from "./stored-message.ts";

/** Tags of StreamingPullResponse and PullResponse (`received_messages` = 1 in both), and of ReceivedMessage. */
const tags = { receivedMessages: 0x0a, ackId: 0x0a, message: 0x12, deliveryAttempt: 0x18 } as const;

export interface Encoding {
  readonly ackIds: AckIds;
  /** Whether `delivery_attempt` is filled: only under a dead-letter policy. */
  readonly countAttempts: boolean;
  /** Further fields of the response, serialized. */
  readonly tail: Buffer;
}

/** Serializes a StreamingPullResponse or a PullResponse. */
export function encodeReceived(deliveries: readonly Delivery[], { ackIds, countAttempts, tail }: Encoding): Buffer {
  const sizes = deliveries.map((delivery) => receivedSize(delivery, ackIds, countAttempts));
  let size = tail.length;
  for (const received of sizes) size += 1 + varintWidth(received) + received;
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const [i, delivery] of deliveries.entries()) {
    bytes[at++] = tags.receivedMessages;
    at = writeVarint(bytes, at, sizes[i]!);
    at = writeReceived(delivery, ackIds, countAttempts, bytes, at);
  }
  tail.copy(bytes, at);
  return bytes;
}

function receivedSize(delivery: Delivery, ackIds: AckIds, countAttempts: boolean): number {
  const ackId = ackIds.length(delivery.ackNumber);
  const message = byteLength(delivery.message);
  const attempt = countAttempts ? 1 + varintWidth(attemptOf(delivery)) : 0;
  return 1 + varintWidth(ackId) + ackId + 1 + varintWidth(message) + message + attempt;
}

function writeReceived(
  delivery: Delivery,
  ackIds: AckIds,
  countAttempts: boolean,
  bytes: Buffer,
  offset: number,
): number {
  const { message, ackNumber } = delivery;
  let at = offset;
  bytes[at++] = tags.ackId;
  at = writeVarint(bytes, at, ackIds.length(ackNumber));
  at = ackIds.write(ackNumber, bytes, at);
  bytes[at++] = tags.message;
  at = writeVarint(bytes, at, byteLength(message));
  at += message.publication.buffer.copy(bytes, at, message.start, message.end);
  if (!countAttempts) return at;
  bytes[at++] = tags.deliveryAttempt;
  return writeVarint(bytes, at, attemptOf(delivery));
}

/** 1 for the first delivery. */
const attemptOf = (delivery: Delivery): number => delivery.failures + 1;
