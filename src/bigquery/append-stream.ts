/**
 * One AppendRows connection: requests go out in order, answers come in the same order. Trace and descriptor travel with
 * the first requests, until an answer shows that the server has them (it forgets those of a request that it refuses); the
 * descriptor again when it has changed. Every request names its stream: BigQuery asks for that only after a change of the
 * descriptor, but goccy's emulator puts the rows of a request without a name into any table.
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
  nullWhenMissingField,
  offsetField,
  type RequestPreamble,
  requestBytes,
  schemaField,
  streamField,
  traceField,
} from "./request-bytes.ts";

export interface AppendStreamOptions {
  readonly openCall: OpenCall;
  /** `projects/P/datasets/D/tables/T/streams/ID`. */
  readonly writeStream: string;
  /** Of the form `A:B`. */
  readonly traceId: string;
  readonly clock: Clock;
  answered(stream: AppendStream, request: AppendRequest, answer: AppendAnswer): void;
  /** The connection is gone; `unanswered` may or may not be in the table, in the order in which they were sent. */
  ended(stream: AppendStream, end: CallEnd, unanswered: readonly AppendRequest[]): void;
}

/** A request without an answer, with the announcement of a descriptor under which it was sent. */
interface Sent {
  readonly request: AppendRequest;
  readonly announcement: number;
}

/** A connection on which the oldest request has waited so long is given up. */
const answerTimeoutMs = 300_000;

export class AppendStream {
  readonly #options: AppendStreamOptions;
  readonly #call: AppendCall;
  readonly #unanswered = new Queue<Sent>();
  /** The descriptor that was announced last, how often one was, and the last such that an answer has confirmed. */
  #announced: Buffer | undefined;
  #announcements = 0;
  #confirmed = 0;
  /** What requests carry that announce nothing. */
  readonly #repeated: RequestPreamble;
  #watchdog: Timer | undefined;
  #ended = false;
  #retired = false;

  constructor(options: AppendStreamOptions) {
    this.#options = options;
    this.#repeated = { ...noPreamble, fields: streamField(options.writeStream) };
    const events = {
      answered: (response: Buffer) => this.#answered(response),
      ended: (end: CallEnd) => this.#end(end),
    };
    this.#call = options.openCall(events, options.writeStream);
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
    const preamble = withOffset(this.#preamble(request.pending.transcoder), request.offset);
    this.#unanswered.push({ request, announcement: this.#announcements });
    this.#call.write(requestBytes(request, preamble));
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

  #preamble({ descriptor, missingValues, emptyWhenMissing }: Transcoder): RequestPreamble {
    if (!this.#announced?.equals(descriptor.bytes)) {
      this.#announced = descriptor.bytes;
      this.#announcements++;
    }
    const exceptions = nullWhenMissingField(emptyWhenMissing);
    if (this.#confirmed === this.#announcements) {
      return exceptions.length === 0 ? this.#repeated : withFields(this.#repeated, exceptions);
    }
    const fields = [this.#repeated.fields, exceptions];
    if (this.#confirmed === 0) fields.push(traceField(this.#options.traceId), missingValuesField(missingValues));
    return { fields: Buffer.concat(fields), schema: schemaField(descriptor.bytes) };
  }

  #answered(response: Buffer): void {
    if (this.#ended) return;
    const sent = this.#unanswered.first;
    const answer = sent && readOrNothing(response);
    if (!sent || !answer) {
      this.#break("the server sent an answer that cannot be read or that belongs to no request");
      return;
    }
    this.#unanswered.shift();
    // The server has read rows that came with a descriptor or after it.
    if (answer.code === 0 || answer.rowErrors.length > 0) {
      this.#confirmed = Math.max(this.#confirmed, sent.announcement);
    }
    this.#options.answered(this, sent.request, answer);
  }

  #watch(): void {
    this.#watchdog = undefined;
    const oldest = this.#unanswered.first?.request;
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
    const unanswered = this.#unanswered.takeAll().map(({ request }) => request);
    this.#options.ended(this, end, unanswered);
  }
}

function withOffset(preamble: RequestPreamble, offset: number | undefined): RequestPreamble {
  return offset === undefined ? preamble : withFields(preamble, offsetField(offset));
}

function withFields({ fields, schema }: RequestPreamble, more: Buffer): RequestPreamble {
  return { fields: Buffer.concat([fields, more]), schema };
}

function readOrNothing(response: Buffer): AppendAnswer | undefined {
  try {
    return readAnswer(response);
  } catch {
    return undefined;
  }
}
