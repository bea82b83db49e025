/**
 * Trips when too many of the last messages were refused: then something is wrong with the mapping, the table or the publisher,
 * and not with single messages.
 *
 * While it has tripped, nothing more is taken. After a minute a sample is: the first hundred messages, or a window of them if that
 * is less. When the sample fares well, all is as before; else it waits again, twice as long, up to ten minutes. A sample whose fate
 * is not known after that pause is enlarged by another: what is held may be waiting for a message that can be written.
 */
import type { Logger } from "pino";
import { type Clock, pause } from "../lib/clock.ts";
import { LoggedState } from "../lib/logged-state.ts";
import type { Outcomes, PipelineState } from "../message.ts";
import type { Breaker } from "./breaker.ts";
import { RefusalWindow } from "./refusal-window.ts";

export interface RefusalBreakerOptions {
  /** The share of refused messages at which it trips, more than 0 and at most 1. */
  readonly share: number;
  /** Over how many messages the share is taken. */
  readonly window: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: BreakerObserver;
}

export interface BreakerObserver {
  /** It has tripped, for the first time or after a sample. */
  tripped(): void;
}

const firstPauseMs = 60_000;
const maxPauseMs = 600_000;
const maxSample = 100;
/** So many codes are named. */
const namedCodes = 3;

export class RefusalBreaker implements Breaker {
  readonly #options: RefusalBreakerOptions;
  readonly #window: RefusalWindow;
  readonly #told: LoggedState;
  /** How many messages may be taken: any number, none, or a sample. */
  #allowance = Infinity;
  /** Taken, and without a fate as yet. */
  #underWay = 0;
  #sampling = false;
  /** What it has tripped over, and what to do. */
  #finding = "";
  #sampleAtMs = Infinity;
  #pauseMs = firstPauseMs;
  #closedAtMs = -Infinity;
  #judged = (): void => {};

  constructor(options: RefusalBreakerOptions) {
    this.#options = options;
    this.#window = new RefusalWindow(options.window);
    this.#told = new LoggedState("ACTIVE", options.log, {}, "the breaker changed its state");
  }

  get state(): PipelineState {
    return this.#told.state;
  }

  get stateReason(): string {
    if (this.state === "ACTIVE" || this.#now < this.#sampleAtMs) return this.#told.reason;
    const share = Math.round(this.#options.share * 100);
    return `${this.#finding}; the next ${this.#sample} messages are a sample: all goes on when fewer than ${share} % of them are refused, or after a restart.`;
  }

  async taken(messages: number, signal: AbortSignal): Promise<void> {
    this.#sampleWhenDue();
    this.#underWay += messages;
    this.#allowance -= messages;
    while (this.#allowance <= 0 && !signal.aborted) {
      if (this.#sampling) await this.#verdict(signal);
      else await pause(this.#options.clock, this.#sampleAtMs - this.#now, signal);
      this.#sampleWhenDue();
    }
  }

  judge(outcomes: Outcomes): void {
    this.#underWay -= outcomes.length;
    if (this.state === "ACTIVE") {
      this.#window.add(outcomes);
      if (this.#window.full && this.#window.share >= this.#options.share) this.#trip();
    } else if (this.#sampling) {
      this.#window.add(outcomes);
      if (this.#allowance <= 0 && this.#underWay <= 0) this.#judgeSample();
    }
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  /** One that trips again soon after it was closed waits for longer. */
  #trip(): void {
    const calm = this.#now - this.#closedAtMs > maxPauseMs;
    this.#hold(calm ? firstPauseMs : this.#pauseMs * 2);
  }

  #judgeSample(): void {
    if (this.#window.share >= this.#options.share) this.#hold(this.#pauseMs * 2);
    else this.#close();
    this.#judged();
  }

  #hold(pauseMs: number): void {
    this.#pauseMs = Math.min(pauseMs, maxPauseMs);
    this.#sampleAtMs = this.#now + this.#pauseMs;
    this.#sampling = false;
    this.#allowance = 0;
    this.#finding = this.#findingNow();
    const again = new Date(this.#options.clock.now() + this.#pauseMs).toISOString();
    this.#told.become("TRIPPED", `${this.#finding}; a sample is tried at ${again}, or after a restart.`);
    this.#options.observer.tripped();
    this.#window.clear();
  }

  #close(): void {
    this.#closedAtMs = this.#now;
    this.#sampling = false;
    this.#allowance = Infinity;
    this.#told.become("ACTIVE");
    this.#window.clear();
  }

  #sampleWhenDue(): void {
    if (this.state === "ACTIVE" || this.#sampling || this.#now < this.#sampleAtMs) return;
    this.#sampling = true;
    this.#allowance = this.#sample;
  }

  get #sample(): number {
    return Math.min(this.#options.window, maxSample);
  }

  /** Resolves when the sample is judged, or has to be enlarged, or when `signal` is aborted. */
  async #verdict(signal: AbortSignal): Promise<void> {
    const judged = new AbortController();
    this.#judged = () => judged.abort();
    await pause(this.#options.clock, this.#pauseMs, AbortSignal.any([judged.signal, signal]));
    if (!judged.signal.aborted && !signal.aborted) this.#allowance = this.#sample;
  }

  #findingNow(): string {
    const { refused, messages, share, codes } = this.#window;
    const named = codes.slice(0, namedCodes).map(([code, count]) => `${code} ${count}`);
    const percent = `${(share * 100).toFixed(1)} %`;
    return `${refused} of the last ${messages} messages (${percent}) were refused: ${named.join(", ")}. They are given back, not dead-lettered, unless they have an ordering key. Mend the mapping, the table or the publisher`;
  }
}
