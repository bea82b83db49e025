/** What goes up a StreamingPull stream. */
import protobuf from "protobufjs";
import { bytesTag, varintTag } from "../lib/wire-format.ts";

export const streamingPullPath = "/google.pubsub.v1.Subscriber/StreamingPull";

const subscription = bytesTag(1);
const streamAckDeadlineSeconds = varintTag(5);
const clientId = bytesTag(6);
const maxOutstandingMessages = varintTag(7);
const maxOutstandingBytes = varintTag(8);

export interface StreamTerms {
  readonly subscription: string;
  /** For how long the service leaves a delivered message to this client: 10–600. */
  readonly deadlineSeconds: number;
  /** The same over all streams of a client, and when they are opened again. */
  readonly clientId: string;
  /** A hint for the service: how much it may send before it sees acks. */
  readonly maxOutstandingMessages: number;
  readonly maxOutstandingBytes: number;
}

/** The first request of a stream. */
export function firstRequest(terms: StreamTerms): Buffer {
  const writer = protobuf.Writer.create()
    .uint32(subscription)
    .string(terms.subscription)
    .uint32(streamAckDeadlineSeconds)
    .int32(terms.deadlineSeconds)
    .uint32(clientId)
    .string(terms.clientId)
    .uint32(maxOutstandingMessages)
    .int64(terms.maxOutstandingMessages)
    .uint32(maxOutstandingBytes)
    .int64(terms.maxOutstandingBytes);
  return Buffer.from(writer.finish());
}

/** Tells the service that the client is there. */
const keepAliveRequest = Buffer.alloc(0);

/** Sets the deadline of the messages that the stream delivers from now on. */
function deadlineRequest(seconds: number): Buffer {
  return Buffer.from(protobuf.Writer.create().uint32(streamAckDeadlineSeconds).int32(seconds).finish());
}

/** The deadline a stream asks for, renewed with its keep-alive. */
export class StreamDeadline {
  #sent: number;
  #before: number;

  constructor(seconds: number) {
    this.#sent = seconds;
    this.#before = seconds;
  }

  /** What was asked for last. */
  get sent(): number {
    return this.#sent;
  }

  /** Messages may have been sent before the service saw the last change: the shorter deadline counts. */
  get granted(): number {
    return Math.min(this.#sent, this.#before);
  }

  /** The keep-alive request: with the new deadline if it has changed. */
  renew(seconds: number): Buffer {
    this.#before = this.#sent;
    this.#sent = seconds;
    return this.#sent === this.#before ? keepAliveRequest : deadlineRequest(seconds);
  }
}
