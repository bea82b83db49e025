/** Responses with messages, spliced together from the bytes of the stored messages. */
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
  for (const received of sizes) size += 1 + varintSize(received) + received;
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const [i, delivery] of deliveries.entries()) {
    bytes[at++] = tags.receivedMessages;
    at = writeVarint(sizes[i]!, bytes, at);
    at = writeReceived(delivery, ackIds, countAttempts, bytes, at);
  }
  tail.copy(bytes, at);
  return bytes;
}

function receivedSize(delivery: Delivery, ackIds: AckIds, countAttempts: boolean): number {
  const ackId = ackIds.length(delivery.ackNumber);
  const message = byteLength(delivery.message);
  const attempt = countAttempts ? 1 + varintSize(attemptOf(delivery)) : 0;
  return 1 + varintSize(ackId) + ackId + 1 + varintSize(message) + message + attempt;
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
  at = writeVarint(ackIds.length(ackNumber), bytes, at);
  at = ackIds.write(ackNumber, bytes, at);
  bytes[at++] = tags.message;
  at = writeVarint(byteLength(message), bytes, at);
  at += message.publication.buffer.copy(bytes, at, message.start, message.end);
  if (!countAttempts) return at;
  bytes[at++] = tags.deliveryAttempt;
  return writeVarint(attemptOf(delivery), bytes, at);
}

/** 1 for the first delivery. */
const attemptOf = (delivery: Delivery): number => delivery.failures + 1;

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) size++;
  return size;
}

function writeVarint(value: number, bytes: Buffer, offset: number): number {
  let at = offset;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80;
  bytes[at++] = rest;
  return at;
}
