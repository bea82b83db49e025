/**
 * Write streams of our own, for rows that are to be in the table exactly once: created as they are needed, up to the size
 * that the queue asks for, given up before BigQuery forgets them, and finalized.
 */
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import { Alarm } from "../lib/alarm.ts";
import { type BackoffBounds, backoffMs } from "../lib/retry.ts";
import type { OpenCall } from "./append-call.ts";
import type { AppendObserver } from "./append-observer.ts";
import type { AppendRequest } from "./append-request.ts";
import { CommittedStream, type CommittedStreamEvents } from "./committed-stream.ts";
import { type PoolBounds, PoolSize } from "./pool-size.ts";
import type { RequestPool, RequestPoolEvents } from "./request-pool.ts";
import { classifyCreation, type StreamCallVerdict } from "./stream-call-error.ts";
import { StreamFarewells } from "./stream-farewells.ts";
import type { CallResult, WriteStreamCalls } from "./write-stream-calls.ts";

export interface CommittedStreamsOptions {
  readonly openCall: OpenCall;
  readonly calls: WriteStreamCalls;
  /** Of the form `A:B`. */
  readonly traceId: string;
  readonly bounds: PoolBounds;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly observer: AppendObserver;
}

/** BigQuery forgets a stream after three days without traffic. */
const maxAgeMs = 2 * 86_400_000;

/** Between tries to create one more stream, while there are others. */
const creationBackoff: BackoffBounds = { initialMs: 10_000, maxMs: 120_000 };

/** So long the end waits for streams to be finalized; BigQuery forgets them anyhow. */
const farewellMs = 1000;

export class CommittedStreams implements RequestPool {
  readonly #options: CommittedStreamsOptions;
  readonly #events: RequestPoolEvents;
  readonly #size: PoolSize;
  readonly #streams = new Set<CommittedStream>();
  readonly #streamEvents: CommittedStreamEvents;
  readonly #closing = new AbortController();
  readonly #farewells: StreamFarewells;
  readonly #alarm: Alarm;
  #creating = false;
  #closed = false;
  /** In a row, to create one more. */
  #failures = 0;
  /** When one more may be created, while there are others; monotonic milliseconds. */
  #createsAtMs = 0;
  /** Of the last request that was looked at. */
  #descriptor: Buffer = Buffer.alloc(0);

  constructor(options: CommittedStreamsOptions, events: RequestPoolEvents) {
    const { bounds, clock, log, observer } = options;
    this.#options = options;
    this.#events = events;
    this.#size = new PoolSize(bounds, clock);
    this.#farewells = new StreamFarewells(options);
    this.#alarm = new Alarm(clock, () => events.ready());
    this.#streamEvents = {
      answered: (request, answer, connection) => events.answered(request, answer, connection),
      ended: (end, unanswered) => events.ended(end, unanswered),
      displaced: (requests) => events.displaced(requests),
      landed: (request) => {
        observer.alreadyStored(request.rowCount);
        events.landed(request);
      },
      unknown: (requests) => {
        for (const { rowCount } of requests) observer.outcomeUnknown(rowCount);
        const rows = requests.reduce((sum, { rowCount }) => sum + rowCount, 0);
        log.warn(
          { rows },
          "a write stream is gone, and nobody can tell whether it had taken rows: they are written again",
        );
      },
      failing: (verdict) => {
        if (this.#starved) events.failing(verdict);
      },
      responsive: () => events.responsive(),
      connected: () => events.resized(this.connections),
      changed: () => {
        this.#sweep();
        events.ready();
      },
    };
  }

  get held(): number {
    let held = 0;
    for (const stream of this.#streams) held += stream.held;
    return held;
  }

  get connections(): number {
    return [...this.#streams].filter(({ connected }) => connected).length;
  }

  get next(): AppendRequest | undefined {
    for (const { next } of this.#streams) if (next) return next;
    return undefined;
  }

  *waiting(): Iterable<AppendRequest> {
    for (const stream of this.#streams) yield* stream.waiting();
  }

  makeRoom(request: AppendRequest): boolean {
    const { bytes } = request.pending.transcoder.descriptor;
    for (const stream of this.#streams) if (stream.ageMs > maxAgeMs) this.#rotate(stream);
    const best = this.#best(bytes);
    if (best?.held === 0) return true;
    const full = this.#streams.size >= this.#size.connections;
    this.#descriptor = bytes;
    if (full && this.#starved) this.#makeWay();
    if (this.#streams.size < this.#size.connections) this.#create();
    return best !== undefined;
  }

  send(request: AppendRequest): void {
    const { bytes } = request.pending.transcoder.descriptor;
    const stream = request.binding ? [...this.#streams].find(({ next }) => next === request) : this.#best(bytes);
    stream!.send(request);
    this.#size.sent(request.sentAtMs - request.waitingSinceMs, this.held);
    this.#shrink();
  }

  renew(): void {
    for (const stream of this.#streams) stream.renew();
  }

  conclude(): void {
    for (const stream of this.#streams) stream.conclude();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#alarm.cancel();
    const left = [...this.#streams];
    this.#streams.clear();
    this.#noteUnknown(left.reduce((rows, stream) => rows + stream.abort(), 0));
    for (const { name } of left) this.#farewells.say(name, undefined);
    await this.#farewells.close(farewellMs);
    this.#closing.abort();
  }

  /** No stream takes requests, now or soon. */
  get #starved(): boolean {
    return ![...this.#streams].some((stream) => stream.fits(this.#descriptor));
  }

  /** The stream with the fewest requests, of those that may take one with this descriptor. */
  #best(descriptor: Buffer): CommittedStream | undefined {
    let best: CommittedStream | undefined;
    for (const stream of this.#streams) {
      if (stream.hasRoom && stream.fits(descriptor) && !(best && best.held <= stream.held)) best = stream;
    }
    return best;
  }

  #create(): void {
    const { clock, calls } = this.#options;
    if (this.#creating || this.#closed) return;
    if (!this.#starved && this.#createsAtMs > clock.monotonic()) return;
    this.#creating = true;
    void calls.create("COMMITTED", this.#closing.signal).then((result) => {
      this.#creating = false;
      if (!this.#closed) this.#created(result);
    });
  }

  #created(result: CallResult<string>): void {
    if ("failure" in result) {
      this.#cannotCreate(classifyCreation(result.failure));
      return;
    }
    const { openCall, calls, traceId, bounds, clock, random, observer } = this.#options;
    const name = result.value;
    const finalize = (signal: AbortSignal): Promise<CallResult<number>> => calls.finalize(name, signal);
    const { maxInFlight } = bounds;
    const options = { name, openCall, finalize, traceId, maxInFlight, clock, random };
    this.#streams.add(new CommittedStream(options, this.#streamEvents));
    this.#failures = 0;
    observer.writeStream("created");
    this.#events.ready();
  }

  /** Where others do the work, one more is tried later; else nothing can be sent, and the state says so. */
  #cannotCreate(verdict: StreamCallVerdict): void {
    const { clock, random } = this.#options;
    if (this.#starved) {
      this.#events.failing(verdict);
      return;
    }
    this.#createsAtMs = clock.monotonic() + backoffMs(this.#failures++, creationBackoff, random);
    this.#alarm.setAt(this.#createsAtMs);
  }

  /** Lets go of streams that are over. */
  #sweep(): void {
    const over = [...this.#streams].filter((stream) => stream.over);
    for (const stream of over) {
      this.#streams.delete(stream);
      if (stream.sealed) this.#noteSeal(stream);
      else this.#farewells.say(stream.name, stream.rowCount);
    }
  }

  #noteSeal(stream: CommittedStream): void {
    const { observer, log } = this.#options;
    observer.writeStream("sealed");
    log.info({ writeStream: stream.name }, "a write stream was given up early; what it has taken is accounted for");
    // One after the other, and none of use: that needs pauses.
    if (!stream.fruitful) this.#cannotCreate({ kind: "reopen", idle: false });
  }

  #noteUnknown(rows: number): void {
    if (rows === 0) return;
    const { observer, log } = this.#options;
    observer.outcomeUnknown(rows);
    log.warn({ rows }, "closed before BigQuery has said whether it took rows: their messages are given back");
  }

  #rotate(stream: CommittedStream): void {
    if (stream.leaving) return;
    this.#options.observer.writeStream("rotated");
    stream.retire();
    this.#sweep();
  }

  /** The least busy one gives way to a stream for another schema. */
  #makeWay(): void {
    const [least] = [...this.#streams].filter(({ leaving }) => !leaving).sort((a, b) => a.held - b.held);
    if (least) this.#rotate(least);
  }

  #shrink(): void {
    if (this.#streams.size > this.#size.connections) this.#makeWay();
  }
}
