/** Requests that wait to be sent, and those that are sent: in order, as far as the gate and the connections let them. */
import type { Clock, Timer } from "../lib/clock.ts";
import { Queue } from "../lib/queue.ts";
import type { AppendAnswer } from "./append-answer.ts";
import type { CallEnd } from "./append-call.ts";
import type { AppendObserver } from "./append-observer.ts";
import type { AppendRequest } from "./append-request.ts";
import { type HoldingVerdict, holdFor } from "./holds.ts";
import type { RequestPool, RequestPoolEvents, Retirable } from "./request-pool.ts";
import { type Hold, SendGate } from "./send-gate.ts";

export interface SendQueueOptions {
  readonly openPool: (events: RequestPoolEvents) => RequestPool;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer: AppendObserver;
}

export interface SendQueueEvents {
  answered(request: AppendRequest, answer: AppendAnswer, connection: Retirable): void;
  /** A request is in the table, though no answer said so. */
  landed(request: AppendRequest): void;
  /** Requests are not in the table, through no fault of theirs. */
  displaced(requests: readonly AppendRequest[]): void;
  /** A connection has ended over these requests, which may or may not be in the table. */
  broken(end: CallEnd, unanswered: readonly AppendRequest[]): void;
  /** A connection has ended with everything answered: for want of traffic, or because we wished it. */
  closed(): void;
  /** There may be room, or another state to show. */
  ready(): void;
}

export class SendQueue {
  readonly #options: SendQueueOptions;
  readonly #events: SendQueueEvents;
  readonly #pool: RequestPool;
  readonly #gate: SendGate;
  readonly #waiting = new Queue<AppendRequest>();
  /** Parts of batches that wait for other parts, with earlier rows of an ordering key of theirs. */
  #behind: AppendRequest[] = [];
  readonly #sent = new Set<AppendRequest>();
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: SendQueueOptions, events: SendQueueEvents) {
    this.#options = options;
    this.#events = events;
    this.#gate = new SendGate(options.clock, options.random);
    this.#pool = options.openPool({
      answered: (request, answer, connection) => {
        this.#landed([request]);
        events.answered(request, answer, connection);
      },
      ended: (end, unanswered) => {
        this.#landed(unanswered);
        if (unanswered.length > 0) events.broken(end, unanswered);
        else events.closed();
      },
      landed: (request) => {
        this.#landed([request]);
        events.landed(request);
      },
      displaced: (requests) => {
        this.#landed(requests);
        events.displaced(requests);
      },
      failing: (verdict) => {
        this.#gate.shut(holdFor(verdict), this.#gate.incident);
        events.ready();
      },
      responsive: () => this.#gate.passed(this.#gate.incident),
      ready: () => events.ready(),
      resized: (connections) => options.observer.connections(connections),
    });
  }

  /** Nothing waits that could be sent if there were room. */
  get empty(): boolean {
    return this.#waiting.length === 0 && !this.#pool.next;
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#pool.connections;
  }

  /** Nothing waits and nothing is sent. */
  get idle(): boolean {
    return this.#waiting.length + this.#behind.length + this.#pool.held === 0;
  }

  /** Why nothing is sent, when it is worth telling. */
  get hold(): Hold | undefined {
    return this.#gate.shown;
  }

  /** Requests waiting and sent. */
  *requests(): Iterable<AppendRequest> {
    yield* this.#sent;
    yield* this.#waiting;
    yield* this.#behind;
    yield* this.#pool.waiting();
  }

  /** Adds a request, behind all others. */
  push(request: AppendRequest): void {
    this.#waiting.push(request);
    this.dispatch();
  }

  /** Puts requests back where they stood; they are sent by the next `dispatch`. */
  putBack(requests: readonly AppendRequest[]): void {
    const now = this.#options.clock.monotonic();
    for (const request of requests) {
      request.waitingSinceMs = now;
      request.binding?.giveBack(request);
    }
    this.#insert(requests.filter(({ binding }) => !binding));
  }

  #insert(requests: readonly AppendRequest[]): void {
    const inOrder = [...this.#waiting.takeAll(), ...requests];
    inOrder.sort((a, b) => a.order - b.order || a.row(0) - b.row(0));
    for (const request of inOrder) this.#waiting.push(request);
  }

  /** Sends what can be sent. */
  dispatch(): void {
    if (this.#behind.length > 0) this.#insert(this.#behind.splice(0));
    for (let next = this.#next; next; next = this.#next) {
      const { waitMs } = this.#gate;
      if (waitMs > 0) {
        this.#dispatchAfter(waitMs);
        return;
      }
      if (next.binding) this.#send(next);
      else if (this.#pool.makeRoom(next)) this.#sendFirst();
      else return;
    }
  }

  get #next(): AppendRequest | undefined {
    return this.#closed ? undefined : (this.#pool.next ?? this.#waiting.first);
  }

  #sendFirst(): void {
    const request = this.#waiting.shift()!.withoutGone();
    if (request.rowCount === 0) return;
    if (request.mustWait) this.#behind.push(request);
    else this.#send(request);
  }

  /** Requests failed for a reason that concerns all: nothing is sent for a while. */
  shut(verdict: HoldingVerdict, failed: readonly AppendRequest[]): void {
    this.#gate.shut(holdFor(verdict), Math.max(...failed.map((request) => request.ticket)));
    // What a person had to mend may have left the old connections behind.
    if (verdict.kind === "setup") this.#pool.renew();
  }

  /** BigQuery has dealt with a request, one way or the other. */
  passed(request: AppendRequest): void {
    this.#gate.passed(request.ticket);
  }

  /** Nothing more is sent. What became of what was sent is found out, as far as it can be. */
  conclude(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#pool.conclude();
  }

  /** Cuts all connections. Nothing more is sent or reported. */
  close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#waiting.takeAll();
    this.#behind = [];
    this.#sent.clear();
    return this.#pool.close();
  }

  #send(request: AppendRequest): void {
    request.ticket = this.#gate.sent();
    request.waitingSinceMs = Math.max(request.waitingSinceMs, this.#gate.opensAtMs);
    this.#sent.add(request);
    this.#options.observer.inFlight(this.#sent.size);
    this.#pool.send(request);
  }

  /** Requests have come back from their connection. */
  #landed(requests: readonly AppendRequest[]): void {
    for (const request of requests) this.#sent.delete(request);
    this.#options.observer.inFlight(this.#sent.size);
  }

  #dispatchAfter(waitMs: number): void {
    this.#timer?.cancel();
    // When the answer to a probe is waited for, that answer goes on from here.
    this.#timer = waitMs === Infinity ? undefined : this.#options.clock.setTimer(() => this.#gateOpens(), waitMs);
  }

  /** What waited may all be gone by now, and then nothing but this makes room for others. */
  #gateOpens(): void {
    this.dispatch();
    this.#events.ready();
  }
}
