/** Which streams rows are appended to: the table's default stream, or streams of our own. */
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import type { OpenCall } from "./append-call.ts";
import type { AppendObserver } from "./append-observer.ts";
import type { AppendOptions } from "./append-options.ts";
import { CommittedStreams } from "./committed-streams.ts";
import type { RequestPool, RequestPoolEvents } from "./request-pool.ts";
import { StreamPool } from "./stream-pool.ts";
import type { WriteStreamCalls } from "./write-stream-calls.ts";

/** `exactlyOnce`: an append that is repeated is never written twice. See docs/delivery-guarantees.md. */
export type Delivering = "atLeastOnce" | "exactlyOnce";

export interface OpenPoolOptions {
  readonly delivery: Delivering;
  readonly openCall: OpenCall;
  /** Used by `exactlyOnce`. */
  readonly writeStreams: WriteStreamCalls;
  /** The default stream, `projects/P/datasets/D/tables/T/streams/_default`. */
  readonly writeStream: string;
  /** Of the form `A:B`. */
  readonly traceId: string;
  readonly append: AppendOptions;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly observer: AppendObserver;
}

export function openPool(options: OpenPoolOptions, events: RequestPoolEvents): RequestPool {
  const { delivery, append: bounds, writeStreams: calls } = options;
  if (delivery === "atLeastOnce") return new StreamPool({ ...options, bounds }, events);
  return new CommittedStreams({ ...options, bounds, calls }, events);
}
