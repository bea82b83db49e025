/** Acks, give-backs and extensions of one subscription, as unary calls. No failure leaves this file as an exception. */
import * as grpc from "@grpc/grpc-js";
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import { LimitedLog } from "../lib/limited-log.ts";
import { callUnary, detailsOf, routingHeader, statusName, statusOf } from "../lib/raw-call.ts";
import { acknowledgePath, type AckIds, AckRequest, modifyAckDeadlinePath } from "./ack-requests.ts";
import type { PullObserver } from "./pull-observer.ts";
import type { Settlement } from "./lease-manager.ts";
import { RequestLane, type Verdict } from "./request-lane.ts";

export interface SubscriberRequestsOptions {
  readonly subscription: string;
  readonly client: grpc.Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: PullObserver;
}

/** The messages of a response, with their ack ids. */
type AckBatch = AckIds & { readonly length: number };

type RequestKind = "ack" | "nack" | "extend";

/** Longest deadline that ModifyAckDeadline takes. */
const maxDeadlineSeconds = 600;

const callTimeoutMs = 30_000;
/** An extension that is not answered by then is tried again by the lease manager. */
const extensionTimeoutMs = 10_000;

/** A fault of the request itself or of the subscription: another try would have the same answer. */
const refusals: ReadonlySet<grpc.status> = new Set([
  grpc.status.INVALID_ARGUMENT,
  grpc.status.NOT_FOUND,
  grpc.status.FAILED_PRECONDITION,
  grpc.status.OUT_OF_RANGE,
  grpc.status.UNIMPLEMENTED,
]);

export class SubscriberRequests {
  readonly #options: SubscriberRequestsOptions;
  readonly #acks: RequestLane;
  /** One lane per kind and deadline: all ids of a ModifyAckDeadline request share their deadline. */
  readonly #deadlines = new Map<string, RequestLane>();
  readonly #stop = new AbortController();
  readonly #failureLog: LimitedLog;
  readonly #metadata: grpc.Metadata;

  constructor(options: SubscriberRequestsOptions) {
    this.#options = options;
    this.#metadata = routingHeader("subscription", options.subscription);
    this.#failureLog = new LimitedLog(options.log, options.clock);
    this.#acks = this.#lane("ack", () => AckRequest.acknowledge(options.subscription));
  }

  /**
   * Acks a batch, and gives some of its messages back: tried for as long as their leases can live.
   *
   * @param givenBack message index → pause in milliseconds before it is delivered again, rounded up to seconds (600 at most)
   * @returns resolves when the service has taken it, or it was given up
   */
  async settle(batch: AckBatch, givenBack: ReadonlyMap<number, number>, settlement: Settlement): Promise<void> {
    const { length } = batch;
    const { deadlineAt, lastDeadlineAt } = settlement;
    const parcels = [this.#acks.add(batch, length, allBut(length, givenBack), lastDeadlineAt)];
    const bySeconds = Map.groupBy(givenBack.keys(), (i) => pauseSeconds(givenBack.get(i)!));
    for (const [seconds, indices] of bySeconds) {
      parcels.push(this.#deadlineLane("nack", seconds).add(batch, length, indices, deadlineAt));
    }
    await Promise.all(parcels);
  }

  /** Gives a whole batch back at once; tried once. */
  release(batch: AckBatch): Promise<boolean> {
    return this.#deadlineLane("nack", 0).add(batch, batch.length, undefined, -Infinity);
  }

  /** Sets the deadline of a batch's messages anew, but of the given-back ones; tried once: who wants another try asks again. */
  extend(batch: AckBatch, seconds: number, givenBack: ReadonlyMap<number, number> | undefined): Promise<boolean> {
    const indices = allBut(batch.length, givenBack);
    return this.#deadlineLane("extend", seconds).add(batch, batch.length, indices, -Infinity);
  }

  /** Sends what is waiting without delay. */
  flush(): void {
    this.#acks.flush();
    for (const lane of this.#deadlines.values()) lane.flush();
  }

  /** Gives up what the service has not taken yet. */
  close(): void {
    this.#acks.close();
    for (const lane of this.#deadlines.values()) lane.close();
    this.#stop.abort();
  }

  #deadlineLane(kind: "nack" | "extend", seconds: number): RequestLane {
    const name = `${kind} ${seconds}`;
    let lane = this.#deadlines.get(name);
    if (!lane) {
      this.#dropIdleLanes();
      lane = this.#lane(kind, () => AckRequest.modifyAckDeadline(this.#options.subscription, seconds));
      this.#deadlines.set(name, lane);
    }
    return lane;
  }

  #dropIdleLanes(): void {
    for (const [name, lane] of this.#deadlines) if (lane.idle) this.#deadlines.delete(name);
  }

  #lane(kind: RequestKind, newRequest: () => AckRequest): RequestLane {
    return new RequestLane({
      clock: this.#options.clock,
      newRequest,
      send: (request) => this.#send(kind, request),
      givenUp: (request) => this.#options.observer.requestFailed(kind, request.ids),
    });
  }

  async #send(kind: RequestKind, request: AckRequest): Promise<Verdict> {
    try {
      await callUnary({
        client: this.#options.client,
        path: kind === "ack" ? acknowledgePath : modifyAckDeadlinePath,
        metadata: this.#metadata,
        request: request.bytes,
        timeoutMs: kind === "extend" ? extensionTimeoutMs : callTimeoutMs,
        signal: this.#stop.signal,
      });
    } catch (error) {
      return this.#failed(kind, request, error);
    }
    this.#countTaken(kind, request.ids);
    return "taken";
  }

  #countTaken(kind: RequestKind, ids: number): void {
    if (kind === "ack") this.#options.observer.acked(ids);
    else if (kind === "nack") this.#options.observer.nacked(ids);
    else this.#options.observer.extended(ids);
  }

  #failed(kind: RequestKind, request: AckRequest, error: unknown): Verdict {
    const code = statusOf(error);
    if (!this.#stop.signal.aborted) {
      this.#failureLog.warn(
        { kind, messages: request.ids, code: statusName(code), details: detailsOf(error) },
        "Pub/Sub did not take a request; what it meant may be delivered again",
      );
    }
    return refusals.has(code) ? "refused" : "again";
  }
}

/** The indices that are not keys of `excluded`; undefined when that is all of them. */
function allBut(length: number, excluded: ReadonlyMap<number, number> | undefined): readonly number[] | undefined {
  if (!excluded || excluded.size === 0) return undefined;
  return Array.from({ length }, (_, i) => i).filter((i) => !excluded.has(i));
}

function pauseSeconds(pauseMs: number): number {
  return Math.min(maxDeadlineSeconds, Math.max(0, Math.ceil(pauseMs / 1000)));
}
