/** Acknowledge and ModifyAckDeadline requests, built from the bytes of the ack ids where they lie. */
import { bytesTag, varintTag, writeVarint } from "../lib/wire-format.ts";
import { WireCursor } from "./wire-cursor.ts";

export const acknowledgePath = "/google.pubsub.v1.Subscriber/Acknowledge";
export const modifyAckDeadlinePath = "/google.pubsub.v1.Subscriber/ModifyAckDeadline";

/** Ack ids as they lie in a response. */
export interface AckIds {
  readonly bytes: Buffer;
  ackIdStart(i: number): number;
  ackIdEnd(i: number): number;
}

/** How much goes into one request. */
export interface RequestLimits {
  readonly maxIds: number;
  /** Of the request, with `bytesPerId` more for each id. */
  readonly maxBytes: number;
  readonly bytesPerId: number;
}

/** The service takes 512 KiB, here less a margin for what proxies may add, and is known to take 2,500 IDs. */
export const plainLimits: RequestLimits = { maxIds: 2500, maxBytes: 524_288 - 16_384, bytesPerId: 0 };

/**
 * With exactly-once delivery the answer may name every id with a code of some 40 characters, in base64, in the trailers. They
 * must stay below 64 KiB, or the connection ends with all calls on it.
 */
export const exactlyOnceLimits: RequestLimits = { maxIds: 2500, maxBytes: 45_000, bytesPerId: 60 };

/** How the fields of one kind of request are tagged. */
interface RequestKind {
  readonly subscriptionTag: number;
  readonly ackIdTag: number;
}

const acknowledge: RequestKind = { subscriptionTag: bytesTag(1), ackIdTag: bytesTag(2) };
const modifyAckDeadline: RequestKind = { subscriptionTag: bytesTag(1), ackIdTag: bytesTag(4) };
const ackDeadlineSeconds = varintTag(3);

/** Tag and length of an id take so many bytes at most. */
const maxIdHeadBytes = 6;

/** A request being filled with ack ids. */
export class AckRequest {
  readonly #kind: RequestKind;
  readonly #limits: RequestLimits;
  readonly #headLength: number;
  #buffer: Buffer;
  #position: number;
  #ids = 0;

  private constructor(kind: RequestKind, head: Buffer, limits: RequestLimits) {
    this.#kind = kind;
    this.#limits = limits;
    this.#buffer = Buffer.allocUnsafe(head.length + 8192);
    this.#headLength = head.copy(this.#buffer);
    this.#position = this.#headLength;
  }

  static acknowledge(subscription: string, limits = plainLimits): AckRequest {
    return new AckRequest(acknowledge, subscriptionField(acknowledge, subscription), limits);
  }

  /** @param seconds 1–600: the deadline counts from the arrival of the request; 0: the messages are given back */
  static modifyAckDeadline(subscription: string, seconds: number, limits = plainLimits): AckRequest {
    const deadline = Buffer.alloc(6);
    deadline[0] = ackDeadlineSeconds;
    const end = writeVarint(deadline, 1, seconds);
    const head = [subscriptionField(modifyAckDeadline, subscription), deadline.subarray(0, end)];
    return new AckRequest(modifyAckDeadline, Buffer.concat(head), limits);
  }

  /** Number of ack ids in the request. */
  get ids(): number {
    return this.#ids;
  }

  /** The request as it goes over the wire. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#position);
  }

  /**
   * Adds ack ids until the request is full; an empty request takes at least one.
   *
   * @param indices which messages of the source are meant; undefined: all, in order
   * @returns how far it came: the first of `from` to `to` that is not in the request
   */
  addIds(source: AckIds, indices: readonly number[] | undefined, from: number, to: number): number {
    for (let k = from; k < to; k++) {
      const i = indices ? indices[k]! : k;
      if (!this.add(source.bytes, source.ackIdStart(i), source.ackIdEnd(i))) return k;
    }
    return to;
  }

  /** Adds the ack id between two offsets; false, and nothing is added, when the request is full. */
  add(bytes: Buffer, start: number, end: number): boolean {
    const fieldBytes = end - start + maxIdHeadBytes;
    const { maxIds, maxBytes, bytesPerId } = this.#limits;
    const counted = this.#position + fieldBytes + (this.#ids + 1) * bytesPerId;
    if ((counted > maxBytes || this.#ids >= maxIds) && this.#ids > 0) return false;
    if (this.#position + fieldBytes > this.#buffer.length) this.#grow(fieldBytes);
    const buffer = this.#buffer;
    buffer[this.#position] = this.#kind.ackIdTag;
    const at = writeVarint(buffer, this.#position + 1, end - start);
    bytes.copy(buffer, at, start, end);
    this.#position = at + end - start;
    this.#ids++;
    return true;
  }

  /** Where in `bytes` the ids of the request lie, in order. */
  *idRanges(): Generator<{ readonly start: number; readonly end: number }> {
    const end = this.#position;
    for (const cursor = new WireCursor(this.#buffer, this.#headLength); cursor.position < end;) {
      cursor.varint32(end);
      const idEnd = cursor.part(end);
      yield { start: cursor.position, end: idEnd };
      cursor.position = idEnd;
    }
  }

  /** Takes all ids out again, so that the memory serves the next request. */
  clear(): void {
    this.#position = this.#headLength;
    this.#ids = 0;
  }

  #grow(count: number): void {
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 4, this.#position + count));
    this.#buffer.copy(grown, 0, 0, this.#position);
    this.#buffer = grown;
  }
}

function subscriptionField(kind: RequestKind, subscription: string): Buffer {
  const name = Buffer.from(subscription);
  const head = Buffer.alloc(6);
  head[0] = kind.subscriptionTag;
  const end = writeVarint(head, 1, name.length);
  return Buffer.concat([head.subarray(0, end), name]);
}
