/** The connections of one table: opened as they are needed, up to the size that the queue asks for. */
import type { Clock } from "../lib/clock.ts";
import type { AppendAnswer } from "./append-answer.ts";
import type { CallEnd, OpenCall } from "./append-call.ts";
import type { AppendRequest } from "./append-request.ts";
import { AppendStream, type AppendStreamOptions } from "./append-stream.ts";
import { type PoolBounds, PoolSize } from "./pool-size.ts";

export interface StreamPoolOptions {
  readonly openCall: OpenCall;
  readonly writeStream: string;
  readonly traceId: string;
  readonly bounds: PoolBounds;
  readonly clock: Clock;
  answered(request: AppendRequest, answer: AppendAnswer, stream: AppendStream): void;
  ended(end: CallEnd, unanswered: readonly AppendRequest[]): void;
  /** The number of open connections has changed. */
  resized(connections: number): void;
}

export class StreamPool {
  readonly #options: StreamPoolOptions;
  readonly #streamOptions: AppendStreamOptions;
  readonly #size: PoolSize;
  readonly #streams = new Set<AppendStream>();

  constructor(options: StreamPoolOptions) {
    this.#options = options;
    this.#size = new PoolSize(options.bounds, options.clock);
    this.#streamOptions = {
      openCall: options.openCall,
      writeStream: options.writeStream,
      traceId: options.traceId,
      clock: options.clock,
      answered: (stream, request, answer) => options.answered(request, answer, stream),
      ended: (stream, end, unanswered) => {
        this.#streams.delete(stream);
        options.resized(this.#streams.size);
        options.ended(end, unanswered);
      },
    };
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#streams.size;
  }

  /** Requests without an answer, on all connections. */
  get inFlight(): number {
    let inFlight = 0;
    for (const stream of this.#streams) inFlight += stream.inFlight;
    return inFlight;
  }

  /** Some connection may take another request. */
  get hasRoom(): boolean {
    const usable = this.#usable();
    return usable.length < this.#size.connections || usable.some((stream) => this.#mayTake(stream));
  }

  /** Sends a request on the connection with the fewest requests in flight. Only when there is room. */
  send(request: AppendRequest): void {
    this.#choose().send(request);
    this.#size.sent(request.sentAtMs - request.waitingSinceMs, this.inFlight);
    this.#retireSurplus();
  }

  /** Everything that is sent from now on goes over new connections. */
  renew(): void {
    for (const stream of this.#streams) stream.retire();
  }

  /** Cuts all connections; nothing is reported any more. */
  close(): void {
    for (const stream of this.#streams) stream.abort();
    this.#streams.clear();
    this.#options.resized(0);
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
    return stream.inFlight < this.#options.bounds.maxInFlight;
  }

  #open(): AppendStream {
    const stream = new AppendStream(this.#streamOptions);
    this.#streams.add(stream);
    this.#options.resized(this.#streams.size);
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
