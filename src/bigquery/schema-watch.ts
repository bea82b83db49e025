/**
 * Keeps a table's schema up to date: fetched on a schedule and on demand, one fetch at a time and never in quick
 * succession. A failed fetch is repeated with backoff.
 */
import { Alarm } from "../lib/alarm.ts";
import type { Clock } from "../lib/clock.ts";
import { backoffMs } from "../lib/retry.ts";
import type { TableSchema } from "../schema/table-schema.ts";
import type { AppendObserver } from "./append-observer.ts";
import type { Trouble } from "./holds.ts";
import { TableUnavailable } from "./tables.ts";

export interface SchemaWatchOptions {
  /** @throws TableUnavailable */
  readonly fetch: (signal: AbortSignal) => Promise<TableSchema>;
  /** From one fetch to the next when nothing asks for one before; asked after each. */
  readonly intervalMs: () => number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer: AppendObserver;
  /** The first schema, or another than before. */
  changed(schema: TableSchema): void;
  /** `trouble` or `awaited` may have changed. */
  looked(): void;
}

/** Fetches begin at least so far apart, however many things ask for one. */
const minGapMs = 2000;
const backoff = { initialMs: 1000, maxMs: 5000 };

export class SchemaWatch {
  readonly #options: SchemaWatchOptions;
  readonly #closing = new AbortController();
  #schema: TableSchema | undefined;
  #known = "";
  #trouble: Trouble | undefined;
  #failures = 0;
  #fetching = false;
  /** Asked for while a fetch was under way, which may have been too early to see what the caller means. */
  #wanted = false;
  /** When the last fetch that succeeded began. */
  #seenAt = { monotonicMs: -Infinity, wallMs: -Infinity };
  readonly #alarm: Alarm;
  /** Those who wait for the fetch that is under way, and for the one after it. */
  #served: (() => void)[] = [];
  #waiting: (() => void)[] = [];

  constructor(options: SchemaWatchOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => void this.#fetch());
  }

  get schema(): TableSchema | undefined {
    return this.#schema;
  }

  /** Why the last fetch failed; undefined when it did not. */
  get trouble(): Trouble | undefined {
    return this.#trouble;
  }

  /** Something waits for a fetch. */
  get awaited(): boolean {
    return this.#waiting.length + this.#served.length > 0;
  }

  /**
   * Resolves when a fetch has succeeded that begins after this call, or when the watch is closed. As long as fetches
   * fail, it waits.
   */
  refresh(): Promise<void> {
    if (this.#closing.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.refreshSoon();
    });
  }

  /** Has the schema fetched as soon as may be. */
  refreshSoon(): void {
    this.#wanted = this.#fetching;
    this.#fetchAt(this.#trouble ? this.#alarm.atMs : this.#seenAt.monotonicMs + minGapMs);
  }

  /** The schema was seen within the last `ageMs`, and after a moment of the wall clock. */
  sawAfter(wallMs: number, ageMs: number): boolean {
    return this.#seenAt.wallMs >= wallMs && this.#options.clock.monotonic() - this.#seenAt.monotonicMs <= ageMs;
  }

  close(): void {
    this.#closing.abort();
    this.#alarm.cancel();
    this.#serve();
    this.#served = this.#waiting;
    this.#serve();
    this.#waiting = [];
  }

  /** Brings the next fetch forward to a moment of the monotonic clock. */
  #fetchAt(atMs: number): void {
    if (!this.#fetching && !this.#closing.signal.aborted) this.#alarm.setAt(atMs);
  }

  async #fetch(): Promise<void> {
    const { clock, observer, intervalMs } = this.#options;
    const beganAt = { monotonicMs: clock.monotonic(), wallMs: clock.now() };
    this.#served = this.#waiting;
    this.#waiting = [];
    this.#fetching = true;
    this.#wanted = false;
    const schema = await this.#look();
    this.#fetching = false;
    if (this.#closing.signal.aborted) return;
    if (!schema) {
      this.#waiting = [...this.#served, ...this.#waiting];
      this.#served = [];
      this.#fetchAt(clock.monotonic() + backoffMs(this.#failures++, backoff, this.#options.random));
      observer.schemaRefreshed("failed");
      this.#options.looked();
      return;
    }
    this.#seenAt = beganAt;
    this.#failures = 0;
    this.#take(schema);
    this.#fetchAt(beganAt.monotonicMs + (this.#waiting.length > 0 || this.#wanted ? minGapMs : intervalMs()));
    this.#serve();
    this.#options.looked();
  }

  async #look(): Promise<TableSchema | undefined> {
    try {
      const schema = await this.#options.fetch(this.#closing.signal);
      this.#trouble = undefined;
      return schema;
    } catch (error) {
      this.#trouble =
        error instanceof TableUnavailable
          ? error.trouble
          : { state: "UNAVAILABLE", reason: "the table's schema could not be fetched" };
      return undefined;
    }
  }

  #take(schema: TableSchema): void {
    const text = JSON.stringify(schema);
    const changed = text !== this.#known;
    this.#known = text;
    this.#schema = schema;
    this.#options.observer.schemaRefreshed(changed ? "changed" : "unchanged");
    if (changed) this.#options.changed(schema);
  }

  /** What the fetch was for goes on. */
  #serve(): void {
    const served = this.#served;
    this.#served = [];
    for (const resolve of served) resolve();
  }
}
