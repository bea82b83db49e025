/**
 * One write stream of our own: its connection, its requests, and its end. What is known of the requests stands in
 * `offset-ledger.ts`.
 *
 * A stream ends in one of two ways. Retired, it takes no new requests and is over when all that it has are decided. Lost,
 * or with appends in doubt that cannot be sent again, it is sealed: finalized, and its row count tells which are in.
 */
import type { Clock } from "../lib/clock.ts";
import type { OpenCall } from "./append-call.ts";
import type { AppendRequest } from "./append-request.ts";
import { OffsetLedger, type OffsetLedgerEvents } from "./offset-ledger.ts";
import { askRowCount } from "./row-count.ts";
import { SingleConnection } from "./single-connection.ts";
import type { StreamCallVerdict } from "./stream-call-error.ts";
import type { CallResult } from "./write-stream-calls.ts";

export interface CommittedStreamOptions {
  /** Resource name. */
  readonly name: string;
  readonly openCall: OpenCall;
  /** Finalizes the stream and says how many rows it has. Never rejects. */
  readonly finalize: (signal: AbortSignal) => Promise<CallResult<number>>;
  readonly traceId: string;
  /** Requests that it may have. */
  readonly maxInFlight: number;
  readonly clock: Clock;
  readonly random: () => number;
}

export interface CommittedStreamEvents extends OffsetLedgerEvents {
  /** It cannot be found out at present what the stream has taken. */
  failing(verdict: StreamCallVerdict): void;
  /** BigQuery deals with the stream: it ended it, or has told what it has taken. */
  responsive(): void;
  /** The connection was opened, or is gone. */
  connected(): void;
  /** There may be room, or something to be sent again, or the stream is over. */
  changed(): void;
}

export class CommittedStream {
  readonly #options: CommittedStreamOptions;
  readonly #events: CommittedStreamEvents;
  readonly #ledger: OffsetLedger;
  readonly #connection: SingleConnection;
  readonly #createdAtMs: number;
  readonly #closing = new AbortController();
  /** Of the requests that it takes: a connection to a stream of our own keeps its schema. */
  #descriptor: Buffer | undefined;
  #retired = false;
  #sealing = false;
  #over = false;

  constructor(options: CommittedStreamOptions, events: CommittedStreamEvents) {
    const { name, openCall, traceId, clock } = options;
    this.#options = options;
    this.#events = events;
    this.#ledger = new OffsetLedger(events, { retire: () => this.renew() });
    this.#createdAtMs = clock.monotonic();
    this.#connection = new SingleConnection({
      openCall,
      writeStream: name,
      traceId,
      clock,
      answered: (_, request, answer) => {
        this.#connection.answered();
        this.#ledger.answered(request, answer);
        this.#goOn();
        if (this.#over || this.#sealing) events.changed();
      },
      ended: (_, end) => {
        this.#ledger.interrupted(end);
        this.#goOn();
        events.changed();
      },
      changed: () => events.connected(),
    });
  }

  get name(): string {
    return this.#options.name;
  }

  /** Milliseconds since its creation. */
  get ageMs(): number {
    return this.#options.clock.monotonic() - this.#createdAtMs;
  }

  get connected(): boolean {
    return this.#connection.open;
  }

  /** Requests that are not decided. */
  get held(): number {
    return this.#ledger.length;
  }

  /** Rows that it has taken, when no request is undecided. */
  get rowCount(): number {
    return this.#ledger.rowCount;
  }

  /** It takes no new requests, now or later. */
  get leaving(): boolean {
    return this.#retired || this.#sealing;
  }

  /** Nothing is undecided, and nothing more comes. */
  get over(): boolean {
    return this.#over;
  }

  /** It is finalized already, or being so. */
  get sealed(): boolean {
    return this.#sealing;
  }

  /** Rows were stored in it. */
  get fruitful(): boolean {
    return this.#ledger.fruitful;
  }

  /** A request with this descriptor may be sent on it, now or later. */
  fits(descriptor: Buffer): boolean {
    return !this.leaving && (this.#descriptor?.equals(descriptor) ?? true);
  }

  /** It may take another request now. */
  get hasRoom(): boolean {
    return !this.leaving && !this.#connection.stale && this.#ledger.open && this.held < this.#options.maxInFlight;
  }

  /** The request that has to be sent again before anything else. */
  get next(): AppendRequest | undefined {
    return this.#connection.stale || this.#sealing ? undefined : this.#ledger.next;
  }

  /** Requests that wait here to be sent again. */
  waiting(): Iterable<AppendRequest> {
    return this.#ledger.waiting();
  }

  /** Sends a request that fits, when there is room, or the one that `next` gave. */
  send(request: AppendRequest): void {
    this.#descriptor ??= request.pending.transcoder.descriptor.bytes;
    this.#ledger.place(request);
    this.#connection.send(request);
  }

  /** What is sent from now on goes over a new connection. */
  renew(): void {
    this.#connection.renew();
  }

  /** It takes no new requests. */
  retire(): void {
    this.#retired = true;
    this.#goOn();
  }

  /** Nothing is sent any more: finds out what it has taken. */
  conclude(): void {
    if (this.held > 0) this.#seal();
  }

  /** Cuts the connection; nothing is reported any more. Returns how many rows may or may not be in the table. */
  abort(): number {
    this.#closing.abort();
    this.#connection.cut();
    this.#over = true;
    return this.#ledger.abandon();
  }

  /** Comes to its end, if it is time. */
  #goOn(): void {
    if (this.#ledger.mustSeal) this.#seal();
    if (!this.#retired || this.#sealing || this.held > 0) return;
    this.#over = true;
    this.#connection.cut();
  }

  #seal(): void {
    if (this.#sealing) return;
    this.#sealing = true;
    this.#connection.cut();
    this.#events.responsive();
    void this.#askAndEnd();
  }

  async #askAndEnd(): Promise<void> {
    const { signal } = this.#closing;
    const failing = (verdict: StreamCallVerdict): void => {
      this.#ledger.note(verdict);
      this.#events.failing(verdict);
    };
    const state = await askRowCount({ ...this.#options, failing }, signal);
    if (signal.aborted) return;
    this.#over = true;
    this.#events.responsive();
    this.#ledger.sealed(state);
    this.#events.changed();
  }
}
