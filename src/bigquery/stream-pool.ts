/** The connections to the default stream of a table: opened as they are needed, up to the size that the queue asks for. */
import type { Clock } from "../lib/clock.ts";
import type { OpenCall } from "./append-call.ts";
import type { AppendRequest } from "./append-request.ts";
import { AppendStream, type AppendStreamOptions } from "./append-stream.ts";
import { type PoolBounds, PoolSize } from "./pool-size.ts";
import type { RequestPool, RequestPoolEvents } from "./request-pool.ts";

export interface StreamPoolOptions {
  readonly openCall: OpenCall;
  /** `projects/P/datasets/D/tables/T/streams/_default`. */
  readonly writeStream: string;
  readonly traceId: string;
  readonly bounds: PoolBounds;
  readonly clock: Clock;
}

/** All that the default stream has to tell. */
export type StreamPoolEvents = Pick<RequestPoolEvents, "answered" | "ended" | "resized">;

export class StreamPool implements RequestPool {
  /** On the default stream nothing has to be sent where it was: it has no places. */
  readonly next = undefined;
  readonly #maxInFlight: number;
  readonly #events: StreamPoolEvents;
  readonly #streamOptions: AppendStreamOptions;
  readonly #size: PoolSize;
  readonly #streams = new Set<AppendStream>();

  constructor({ openCall, writeStream, traceId, bounds, clock }: StreamPoolOptions, events: StreamPoolEvents) {
    this.#maxInFlight = bounds.maxInFlight;
    this.#events = events;
    this.#size = new PoolSize(bounds, clock);
    this.#streamOptions = {
      openCall,
      writeStream,
      traceId,
      clock,
      answered: (stream, request, answer) => events.answered(request, answer, stream),
      ended: (stream, end, unanswered) => {
        this.#streams.delete(stream);
        events.resized(this.#streams.size);
        events.ended(end, unanswered);
      },
    };
  }

  waiting(): Iterable<AppendRequest> {
    return [];
  }

  get connections(): number {
    return this.#streams.size;
  }

  get held(): number {
    let held = 0;
    for (const stream of this.#streams) held += stream.inFlight;
    return held;
  }

  makeRoom(): boolean {
    const usable = this.#usable();
    return usable.length < this.#size.connections || usable.some((stream) => this.#mayTake(stream));
  }

  /** Sends a request on the connection with the fewest requests in flight. */
  send(request: AppendRequest): void {
    this.#choose().send(request);
    this.#size.sent(request.sentAtMs - request.waitingSinceMs, this.held);
    this.#retireSurplus();
  }

  renew(): void {
    for (const stream of this.#streams) stream.retire();
  }

  /** What became of a request without an answer cannot be found out. */
  conclude(): void {}

  close(): Promise<void> {
    for (const stream of this.#streams) stream.abort();
    this.#streams.clear();
    this.#events.resized(0);
    return Promise.resolve();
  }

  #choose(): AppendStream {
    const usable = this.#usable();
    const best = usable.reduce<AppendStream | undefined>(
      (least, stream) => (!least || stream.inFlight < least.inFlight ? stream : least),
      undefined,
    );
    if (best && (best.inFlight === 0 || usable.length >= this.#size.connections)) return best;
    return this.#open();
  }

  #mayTake(stream: AppendStream): boolean {
    return stream.inFlight < this.#maxInFlight;
  }

  #open(): AppendStream {
    const stream = new AppendStream(this.#streamOptions);
    this.#streams.add(stream);
    this.#events.resized(this.#streams.size);
    return stream;
  }

  #retireSurplus(): void {
    const usable = this.#usable();
    if (usable.length > this.#size.connections) usable.at(-1)!.retire();
  }

  #usable(): AppendStream[] {
    return [...this.#streams].filter((stream) => !stream.retired);
  }
}
