/**
 * Acknowledge and ModifyAckDeadline requests, built from the bytes of the ack ids where they lie.
 * The service takes at most 512 KiB per request, and 2,500 IDs.
 */
import { bytesTag, varintTag, writeVarint } from "../lib/wire-format.ts";

/** 512 KiB, less a margin for what proxies may add. */
const maxRequestBytes = 524_288 - 16_384;

export const acknowledgePath = "/google.pubsub.v1.Subscriber/Acknowledge";
export const modifyAckDeadlinePath = "/google.pubsub.v1.Subscriber/ModifyAckDeadline";

/** Ack ids as they lie in a response. */
export interface AckIds {
  readonly bytes: Buffer;
  ackIdStart(i: number): number;
  ackIdEnd(i: number): number;
}

/** The most IDs that the service is known to take in one request. */
const maxIds = 2500;

/** How the fields of one kind of request are tagged. */
interface RequestKind {
  readonly subscriptionTag: number;
  readonly ackIdTag: number;
}

const acknowledge: RequestKind = { subscriptionTag: bytesTag(1), ackIdTag: bytesTag(2) };
const modifyAckDeadline: RequestKind = { subscriptionTag: bytesTag(1), ackIdTag: bytesTag(4) };
const ackDeadlineSeconds = varintTag(3);

/** A request being filled with ack ids. */
export class AckRequest {
  readonly #kind: RequestKind;
  readonly #headLength: number;
  #buffer: Buffer;
  #position: number;
  #ids = 0;

  private constructor(kind: RequestKind, head: Buffer) {
    this.#kind = kind;
    this.#buffer = Buffer.allocUnsafe(head.length + 8192);
    this.#headLength = head.copy(this.#buffer);
    this.#position = this.#headLength;
  }

  static acknowledge(subscription: string): AckRequest {
    return new AckRequest(acknowledge, subscriptionField(acknowledge, subscription));
  }

  /** @param seconds 1–600: the deadline counts from the arrival of the request; 0: the messages are given back */
  static modifyAckDeadline(subscription: string, seconds: number): AckRequest {
    const deadline = Buffer.alloc(6);
    deadline[0] = ackDeadlineSeconds;
    const end = writeVarint(deadline, 1, seconds);
    const head = [subscriptionField(modifyAckDeadline, subscription), deadline.subarray(0, end)];
    return new AckRequest(modifyAckDeadline, Buffer.concat(head));
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
      if (!this.#add(source, indices ? indices[k]! : k)) return k;
    }
    return to;
  }

  /** Takes all ids out again, so that the memory serves the next request. */
  clear(): void {
    this.#position = this.#headLength;
    this.#ids = 0;
  }

  #add(source: AckIds, i: number): boolean {
    const start = source.ackIdStart(i);
    const length = source.ackIdEnd(i) - start;
    const fieldBytes = length + 6;
    const full = this.#position + fieldBytes > maxRequestBytes || this.#ids >= maxIds;
    if (full && this.#ids > 0) return false;
    if (this.#position + fieldBytes > this.#buffer.length) this.#grow(fieldBytes);
    const buffer = this.#buffer;
    buffer[this.#position] = this.#kind.ackIdTag;
    const at = writeVarint(buffer, this.#position + 1, length);
    source.bytes.copy(buffer, at, start, start + length);
    this.#position = at + length;
    this.#ids++;
    return true;
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
