/** Extends leases by one request at a time, the earliest deadline first. */
import type { Clock } from "../lib/clock.ts";
import { backoffMs } from "../lib/retry.ts";
import type { ParcelResult } from "./ack-draft.ts";
import type { RequestLimits } from "./ack-requests.ts";
import { coalesceMs, countForRequest, graceMs, lineOf, pauseBefore } from "./extension-pace.ts";
import { extendable, type LeasedBatch, type LeasePart } from "./lease.ts";

export interface ExtensionOptions<B extends LeasedBatch> {
  readonly clock: Clock;
  readonly random: () => number;
  /** How much goes into one request. */
  readonly limits: () => RequestLimits;
  /** What it takes to extend all that is held, in requests. */
  readonly requests: () => number;
  /** The longest extension that makes sense now, in whole seconds. */
  readonly longestSeconds: () => number;
  /** Nothing is extended beyond this. */
  readonly limitAt: (part: LeasePart<B>) => number;
  /** Sets the leases of some messages (undefined: all) of a batch to `seconds` from now. */
  readonly extend: (batch: B, seconds: number, messages: readonly number[] | undefined) => Promise<ParcelResult>;
  /** The service does not know these messages of the batch of a part any more. */
  readonly lost: (part: LeasePart<B>, messages: readonly number[]) => void;
  /** Leases of so many messages may have ended before they could be extended. */
  readonly expired: (messages: number) => void;
  /** A part is due again, or at another time. */
  readonly scheduled: (part: LeasePart<B>) => void;
}

const retryBounds = { initialMs: 1000, maxMs: 60_000 };

export class Extensions<B extends LeasedBatch> {
  readonly #options: ExtensionOptions<B>;
  #failures = 0;
  #failedAt = -Infinity;
  /** No request goes before this. */
  nextAt = -Infinity;

  constructor(options: ExtensionOptions<B>) {
    this.#options = options;
  }

  /** Sends one request if some part is due and the last request lies back far enough. */
  attend(parts: readonly LeasePart<B>[], now: number): void {
    if (now < this.nextAt) return;
    const line = lineOf(parts, now);
    if (line.length === 0) return;
    const limits = this.#options.limits();
    const longest = this.#options.longestSeconds();
    const secondsOf = (part: LeasePart<B>): number => {
      const left = Math.ceil((this.#options.limitAt(part) - now) / 1000);
      return Math.max(1, Math.min(longest, left));
    };
    const seconds = secondsOf(line[0]!);
    const alike = line.filter((part) => secondsOf(part) === seconds);
    const sent = new Set(alike.slice(0, countForRequest(alike, limits)));
    for (const part of sent) void this.#extend(part, now, seconds);
    const rest = line.filter((part) => !sent.has(part));
    this.nextAt = Math.max(this.nextAt, now + pauseBefore(rest, limits, now));
  }

  async #extend(part: LeasePart<B>, now: number, seconds: number): Promise<void> {
    if (part.deadlineAt <= now && !part.expired) {
      part.expired = true;
      this.#options.expired(part.length);
    }
    part.extendAt = Infinity;
    const messages = extendable(part);
    if (messages?.length === 0) return;
    const { lost, untaken } = await this.#options.extend(part.lease.batch, seconds, messages);
    if (lost.length > 0) this.#options.lost(part, lost);
    if (part.lease.ended) return;
    if (untaken.length > 0) {
      this.#pauseAfterFailure(now);
      part.extendAt = now;
    } else {
      this.#failures = 0;
      part.deadlineAt = now + seconds * 1000;
      part.extendAt = part.deadlineAt - graceMs(seconds * 1000, false, this.#options.requests());
    }
    this.#options.scheduled(part);
  }

  /** One pause for all requests that fail together. */
  #pauseAfterFailure(sentAt: number): void {
    if (sentAt <= this.#failedAt) return;
    const now = this.#options.clock.monotonic();
    this.#failedAt = now;
    const pauseMs = coalesceMs + backoffMs(this.#failures++, retryBounds, this.#options.random);
    this.nextAt = Math.max(this.nextAt, now + pauseMs);
  }
}
