/**
 * One AppendRows connection: requests go out in order, answers come in the same order. Stream, trace and descriptor
 * travel with the first request; stream and descriptor again when the descriptor has changed.
 */
import { status } from "@grpc/grpc-js";
import type { Clock, Timer } from "../lib/clock.ts";
import { Queue } from "../lib/queue.ts";
import type { Transcoder } from "../transcode/transcoder.ts";
import { type AppendAnswer, readAnswer } from "./append-answer.ts";
import type { AppendCall, CallEnd, OpenCall } from "./append-call.ts";
import type { AppendRequest } from "./append-request.ts";
import {
  missingValuesField,
  noPreamble,
  type RequestPreamble,
  requestBytes,
  schemaField,
  streamField,
  traceField,
} from "./request-bytes.ts";

export interface AppendStreamOptions {
  readonly openCall: OpenCall;
  /** `projects/P/datasets/D/tables/T/streams/_default`. */
  readonly writeStream: string;
  /** Of the form `A:B`. */
  readonly traceId: string;
  readonly clock: Clock;
  answered(stream: AppendStream, request: AppendRequest, answer: AppendAnswer): void;
  /** The connection is gone; `unanswered` may or may not be in the table, in the order in which they were sent. */
  ended(stream: AppendStream, end: CallEnd, unanswered: readonly AppendRequest[]): void;
}

/** A connection on which the oldest request has waited so long is given up. */
const answerTimeoutMs = 300_000;

export class AppendStream {
  readonly #options: AppendStreamOptions;
  readonly #call: AppendCall;
  readonly #unanswered = new Queue<AppendRequest>();
  /** The descriptor that the server knows. */
  #descriptor: Buffer | undefined;
  /** What requests carry that change nothing. */
  #repeated = noPreamble;
  #watchdog: Timer | undefined;
  #ended = false;
  #retired = false;

  constructor(options: AppendStreamOptions) {
    this.#options = options;
    this.#call = options.openCall({
      answered: (response) => this.#answered(response),
      ended: (end) => this.#end(end),
    });
  }

  /** Requests without an answer. */
  get inFlight(): number {
    return this.#unanswered.length;
  }

  /** It takes no further request. */
  get retired(): boolean {
    return this.#retired;
  }

  send(request: AppendRequest): void {
    request.sentAtMs = this.#options.clock.monotonic();
    this.#unanswered.push(request);
    this.#call.write(requestBytes(request, this.#preamble(request.pending.transcoder)));
    this.#watchdog ??= this.#options.clock.setTimer(() => this.#watch(), answerTimeoutMs);
  }

  /** Closes the connection as soon as everything sent has its answer. */
  retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.#call.end();
  }

  /** Closes the connection at once; requests without an answer are dropped without a word. */
  abort(): void {
    this.#ended = true;
    this.#retired = true;
    this.#watchdog?.cancel();
    this.#unanswered.takeAll();
    this.#call.cancel();
  }

  #preamble({ descriptor, missingValues }: Transcoder): RequestPreamble {
    const { writeStream, traceId } = this.#options;
    const known = this.#descriptor;
    if (known === descriptor.bytes || known?.equals(descriptor.bytes)) return this.#repeated;
    this.#descriptor = descriptor.bytes;
    const stream = streamField(writeStream);
    // Once the schema has changed on a connection, every further request has to name its stream.
    if (known) this.#repeated = { ...noPreamble, fields: stream };
    const once = known ? [] : [traceField(traceId), missingValuesField(missingValues)];
    return { fields: Buffer.concat([stream, ...once]), schema: schemaField(descriptor.bytes) };
  }

  #answered(response: Buffer): void {
    if (this.#ended) return;
    const request = this.#unanswered.first;
    const answer = request && readOrNothing(response);
    if (!request || !answer) {
      this.#break("the server sent an answer that cannot be read or that belongs to no request");
      return;
    }
    this.#unanswered.shift();
    this.#options.answered(this, request, answer);
  }

  #watch(): void {
    this.#watchdog = undefined;
    const oldest = this.#unanswered.first;
    if (!oldest) return;
    const leftMs = oldest.sentAtMs + answerTimeoutMs - this.#options.clock.monotonic();
    if (leftMs > 0) this.#watchdog = this.#options.clock.setTimer(() => this.#watch(), leftMs);
    else this.#break("no answer came for too long");
  }

  #break(reason: string): void {
    this.#end({ code: status.INTERNAL, message: reason, storageError: 0 });
    this.#call.cancel();
  }

  #end(end: CallEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#retired = true;
    this.#watchdog?.cancel();
    this.#options.ended(this, end, this.#unanswered.takeAll());
  }
}

function readOrNothing(response: Buffer): AppendAnswer | undefined {
  try {
    return readAnswer(response);
  } catch {
    return undefined;
  }
}
