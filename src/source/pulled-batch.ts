/**
 * A StreamingPullResponse as it came: one buffer, and where the messages lie in it.
 * Ids, times and attributes are read from the buffer when somebody asks for them.
 */
import { bytesTag, varintTag } from "../lib/wire-format.ts";
import type { Attributes, MessageBatch } from "../message.ts";
import {
  ackIdEnd,
  ackIdStart,
  attempt,
  attributes,
  dataEnd,
  dataStart,
  layOut,
  messageEnd,
  messageId,
  messageStart,
  orderingKey,
  publishTime,
  type ResponseLayout,
  slots,
  type SubscriptionProperties,
} from "./response-layout.ts";
import { WireCursor } from "./wire-cursor.ts";

/** A map's entry */
const entryKey = bytesTag(1);
const entryValue = bytesTag(2);
/** Timestamp */
const seconds = varintTag(1);
const nanos = varintTag(2);

const noAttributes: Attributes = new Map();

export class PulledBatch implements MessageBatch {
  readonly bytes: Buffer;
  readonly length: number;
  readonly hasOrderingKeys: boolean;
  /** Undefined when the response does not tell. */
  readonly properties: SubscriptionProperties | undefined;
  /** Counts how often the subscription was lost and found again before the response came. */
  readonly generation: number;
  readonly #offsets: Int32Array;

  private constructor(bytes: Buffer, { offsets, hasOrderingKeys, properties }: ResponseLayout, generation: number) {
    this.bytes = bytes;
    this.length = offsets.length / slots;
    this.hasOrderingKeys = hasOrderingKeys;
    this.properties = properties;
    this.generation = generation;
    this.#offsets = offsets;
  }

  /**
   * Walks a response to the offsets of its messages.
   *
   * @param bytes a StreamingPullResponse; it is kept, not copied
   * @throws MalformedResponse when the bytes are no such response
   */
  static parse(bytes: Buffer, generation = 0): PulledBatch {
    return new PulledBatch(bytes, layOut(bytes), generation);
  }

  /**
   * Some messages of the batch, as a batch of their own over the same bytes.
   *
   * @param kept indices in order
   */
  pick(kept: readonly number[]): PulledBatch {
    const offsets = new Int32Array(slots * kept.length);
    for (const [k, i] of kept.entries()) offsets.set(this.#offsets.subarray(i * slots, (i + 1) * slots), k * slots);
    const { hasOrderingKeys, properties } = this;
    return new PulledBatch(this.bytes, { offsets, hasOrderingKeys, properties }, this.generation);
  }

  get byteLength(): number {
    return this.bytes.length;
  }

  /**
   * Bytes of the messages alone, as the service counts them for flow control. Counted otherwise, either side would stop
   * before the other, and messages would wait between the two until their leases end.
   */
  get messageBytes(): number {
    let bytes = 0;
    for (let at = 0; at < this.#offsets.length; at += slots) {
      bytes += this.#offsets[at + messageEnd]! - this.#offsets[at + messageStart]!;
    }
    return bytes;
  }

  dataStart(i: number): number {
    return this.#offsets[i * slots + dataStart]!;
  }

  dataEnd(i: number): number {
    return this.#offsets[i * slots + dataEnd]!;
  }

  /** Offset of the first byte of the ack id. */
  ackIdStart(i: number): number {
    return this.#offsets[i * slots + ackIdStart]!;
  }

  /** Offset behind the last byte of the ack id. */
  ackIdEnd(i: number): number {
    return this.#offsets[i * slots + ackIdEnd]!;
  }

  /** Bytes of all ack ids. */
  get ackIdBytes(): number {
    let bytes = 0;
    for (let i = 0; i < this.length; i++) bytes += this.ackIdEnd(i) - this.ackIdStart(i);
    return bytes;
  }

  messageId(i: number): string {
    return this.#text(i, messageId);
  }

  orderingKey(i: number): string {
    return this.#text(i, orderingKey);
  }

  deliveryAttempt(i: number): number {
    return this.#offsets[i * slots + attempt]!;
  }

  publishTimeMicros(i: number): bigint {
    const cursor = this.#messageCursor(i);
    const end = seek(cursor, publishTime, this.#messageEnd(i));
    return end < 0 ? 0n : readTimestamp(cursor, end);
  }

  attributes(i: number): Attributes {
    const cursor = this.#messageCursor(i);
    const end = this.#messageEnd(i);
    let map: Map<string, string> | undefined;
    for (;;) {
      const entryEnd = seek(cursor, attributes, end);
      if (entryEnd < 0) return map ?? noAttributes;
      map ??= new Map();
      readEntry(cursor, entryEnd, map);
    }
  }

  #messageCursor(i: number): WireCursor {
    return new WireCursor(this.bytes, this.#offsets[i * slots + messageStart]);
  }

  #messageEnd(i: number): number {
    return this.#offsets[i * slots + messageEnd]!;
  }

  #text(i: number, tag: number): string {
    const cursor = this.#messageCursor(i);
    const end = seek(cursor, tag, this.#messageEnd(i));
    return end < 0 ? "" : this.bytes.toString("utf8", cursor.position, end);
  }
}

/** Moves to the next length-delimited field with this tag. Returns the offset behind it, or -1 when there is none. */
function seek(cursor: WireCursor, wanted: number, end: number): number {
  while (cursor.position < end) {
    const tag = cursor.varint32(end);
    if (tag === wanted) return cursor.part(end);
    cursor.skip(tag, end);
  }
  return -1;
}

function readEntry(cursor: WireCursor, end: number, map: Map<string, string>): void {
  let key = "";
  let value = "";
  while (cursor.position < end) {
    const tag = cursor.varint32(end);
    if (tag !== entryKey && tag !== entryValue) {
      cursor.skip(tag, end);
      continue;
    }
    const partEnd = cursor.part(end);
    const text = cursor.bytes.toString("utf8", cursor.position, partEnd);
    if (tag === entryKey) key = text;
    else value = text;
    cursor.position = partEnd;
  }
  map.set(key, value);
}

/** Microseconds since 1970-01-01 UTC; digits beyond the microsecond are left out. */
function readTimestamp(cursor: WireCursor, end: number): bigint {
  let wholeSeconds = 0n;
  let rest = 0;
  while (cursor.position < end) {
    const tag = cursor.varint32(end);
    if (tag === seconds) wholeSeconds = cursor.varint64(end);
    else if (tag === nanos) rest = cursor.varint32(end);
    else cursor.skip(tag, end);
  }
  return wholeSeconds * 1_000_000n + BigInt(Math.floor(rest / 1000));
}
