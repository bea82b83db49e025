/** Acks, give-backs and extensions of one subscription, as unary calls. No failure leaves this file as an exception. */
import * as grpc from "@grpc/grpc-js";
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import { LimitedLog } from "../lib/limited-log.ts";
import { callUnary, detailsOf, routingHeader, statusName, statusOf } from "../lib/raw-call.ts";
import type { Dropped, ParcelResult } from "./ack-draft.ts";
import { type AckFailures, ackFailuresOf } from "./ack-failures.ts";
import {
  acknowledgePath,
  type AckIds,
  AckRequest,
  exactlyOnceLimits,
  modifyAckDeadlinePath,
  plainLimits,
  type RequestLimits,
} from "./ack-requests.ts";
import type { PullObserver } from "./pull-observer.ts";
import { withoutAckIds } from "./refusal-words.ts";
import type { Settlement } from "./lease-manager.ts";
import { type LaneOptions, RequestLane, type Verdict } from "./request-lane.ts";

export interface SubscriberRequestsOptions {
  readonly subscription: string;
  readonly client: grpc.Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: PullObserver;
  /** So much is held that nothing more is pulled. */
  readonly isCrowded: () => boolean;
  readonly random?: () => number;
}

/** The messages of a response, with their ack ids. */
type AckBatch = AckIds & {
  readonly length: number;
  /** Ids of a subscription that was deleted since go apart from those of the one that has its name now. */
  readonly generation: number;
};

type RequestKind = "ack" | "nack" | "extend";

/** Longest deadline that ModifyAckDeadline takes. */
const maxDeadlineSeconds = 600;

const callTimeoutMs = 30_000;
/** An extension that is not answered by then is tried again by the lease manager. */
const extensionTimeoutMs = 10_000;

/** A message whose receipt was not taken three times comes again by itself. */
const receiptTries = 3;

/** A fault of the request itself or of the subscription: another try would have the same answer. */
const refusals: ReadonlySet<grpc.status> = new Set([
  grpc.status.NOT_FOUND,
  grpc.status.FAILED_PRECONDITION,
  grpc.status.OUT_OF_RANGE,
  grpc.status.UNIMPLEMENTED,
]);

/** What sets a lane apart. */
interface LaneKind {
  readonly kind: RequestKind;
  /** All ids of a ModifyAckDeadline request share their deadline; 0 of an Acknowledge request. */
  readonly seconds: number;
  readonly generation: number;
  /** One request after the other. */
  readonly inOrder?: boolean;
  readonly receipt?: boolean;
}

export class SubscriberRequests {
  readonly #options: SubscriberRequestsOptions;
  readonly #lanes = new Map<string, RequestLane>();
  readonly #stop = new AbortController();
  readonly #failureLog: LimitedLog;
  readonly #metadata: grpc.Metadata;
  /** How much goes into a request depends on whether the subscription has exactly-once delivery. */
  exactlyOnce = false;

  constructor(options: SubscriberRequestsOptions) {
    this.#options = options;
    this.#metadata = routingHeader("subscription", options.subscription);
    this.#failureLog = new LimitedLog(options.log, options.clock);
  }

  /** How much goes into a request at most. */
  get limits(): RequestLimits {
    return this.exactlyOnce ? exactlyOnceLimits : plainLimits;
  }

  /**
   * Acks a batch, and gives some of its messages back: tried for as long as their leases can live.
   *
   * @param givenBack message index → pause in milliseconds before it is delivered again, rounded up to seconds (600 at most)
   * @param dropped is told of messages whose acks are tried no more
   * @returns resolves when the service has taken it, or it was given up
   */
  async settle(
    batch: AckBatch,
    givenBack: ReadonlyMap<number, number>,
    settlement: Settlement,
    dropped?: Dropped,
  ): Promise<void> {
    const acks = allBut(batch.length, givenBack.size > 0 ? givenBack : undefined);
    await this.tell(batch, acks, givenBack, settlement, { inOrder: false, dropped });
  }

  /**
   * Acks some messages of a batch and gives others back.
   *
   * @param acks undefined: all
   * @param how.inOrder the acks are taken after all that were handed over in order before
   * @param how.dropped as for `settle`
   * @returns false when messages could not be given back: they come again when their leases end
   */
  async tell(
    batch: AckBatch,
    acks: readonly number[] | undefined,
    givenBack: ReadonlyMap<number, number>,
    { deadlineAt, lastDeadlineAt }: Settlement,
    { inOrder, dropped }: { readonly inOrder: boolean; readonly dropped: Dropped | undefined },
  ): Promise<boolean> {
    const { length, generation } = batch;
    const ackLane: LaneKind = { kind: "ack", seconds: 0, generation, inOrder };
    const acked = acks?.length !== 0 && this.#lane(ackLane).add(batch, length, acks, lastDeadlineAt, dropped);
    const bySeconds = Map.groupBy(givenBack.keys(), (i) => pauseSeconds(givenBack.get(i)!));
    const back = await Promise.all(
      [...bySeconds].map(([seconds, indices]) =>
        this.#lane({ kind: "nack", seconds, generation }).add(batch, length, indices, deadlineAt),
      ),
    );
    await acked;
    return back.every(({ untaken }) => untaken.length === 0);
  }

  /** Gives messages back before their batch is held; tried once. */
  release(batch: AckBatch, indices?: readonly number[], seconds = 0): Promise<ParcelResult> {
    const lane = this.#lane({ kind: "nack", seconds, generation: batch.generation });
    return lane.add(batch, batch.length, indices, -Infinity);
  }

  /** Sets the deadline of some messages (undefined: all) of a batch anew; tried once: who wants another try asks again. */
  extend(batch: AckBatch, seconds: number, messages: readonly number[] | undefined): Promise<ParcelResult> {
    const lane = this.#lane({ kind: "extend", seconds, generation: batch.generation });
    return lane.add(batch, batch.length, messages, -Infinity);
  }

  /** Asks the service to confirm that a batch that has come is ours, by an extension; tried three times. */
  receipt(batch: AckBatch, seconds: number): Promise<ParcelResult> {
    const lane = this.#lane({ kind: "extend", seconds, generation: batch.generation, receipt: true });
    return lane.add(batch, batch.length, undefined, Infinity);
  }

  /** Sends what is waiting without delay. */
  flush(): void {
    for (const lane of this.#lanes.values()) lane.flush();
  }

  /** Gives up what the service has not taken yet. */
  close(): void {
    for (const lane of this.#lanes.values()) lane.close();
    this.#stop.abort();
  }

  #lane(wanted: LaneKind): RequestLane {
    const { kind, seconds, generation, inOrder = false, receipt = false } = wanted;
    const name = `${kind} ${seconds} ${generation} ${inOrder} ${receipt} ${this.exactlyOnce}`;
    let lane = this.#lanes.get(name);
    if (!lane) {
      for (const [other, { idle }] of this.#lanes) if (idle) this.#lanes.delete(other);
      lane = new RequestLane(this.#optionsOf(wanted));
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #optionsOf({ kind, seconds, inOrder, receipt }: LaneKind): LaneOptions {
    const { subscription, clock, observer, isCrowded, random } = this.#options;
    const { limits } = this;
    return {
      clock,
      newRequest: () =>
        kind === "ack"
          ? AckRequest.acknowledge(subscription, limits)
          : AckRequest.modifyAckDeadline(subscription, seconds, limits),
      send: (request) => this.#send(kind, request),
      taken: (ids) => this.#countTaken(kind, ids),
      givenUp: (ids, code) => observer.requestFailed(kind, ids, code),
      isCrowded,
      ...(inOrder && { maxInFlight: 1 }),
      ...(receipt && { maxTries: receiptTries }),
      ...(random && { random }),
    };
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
    return { kind: "taken" };
  }

  #countTaken(kind: RequestKind, ids: number): void {
    if (kind === "ack") this.#options.observer.acked(ids);
    else if (kind === "nack") this.#options.observer.nacked(ids);
    else this.#options.observer.extended(ids);
  }

  #failed(kind: RequestKind, request: AckRequest, error: unknown): Verdict {
    const status = statusOf(error);
    const code = statusName(status);
    const told = ackFailuresOf(error);
    const failures = told && namesAny(told, request) ? told : undefined;
    if (!this.#stop.signal.aborted) {
      this.#failureLog.warn(
        { kind, messages: failures?.size ?? request.ids, code, details: withoutAckIds(detailsOf(error), request) },
        "Pub/Sub did not take a request; what it meant may be delivered again",
      );
    }
    if (failures) return { kind: "partly", failures, code };
    if (status === grpc.status.INVALID_ARGUMENT) return { kind: "badId", code };
    return { kind: refusals.has(status) ? "refused" : "again", code };
  }
}

/** The indices that are not among those left out; undefined when that is all of them. */
function allBut(length: number, leftOut: { has(i: number): boolean } | undefined): readonly number[] | undefined {
  return leftOut && Array.from({ length }, (_, i) => i).filter((i) => !leftOut.has(i));
}

/** Failures that name no id of the request are about all of it: else each of them would count as taken. */
function namesAny(failures: AckFailures, request: AckRequest): boolean {
  for (const { start, end } of request.idRanges()) {
    if (failures.has(request.bytes.toString("utf8", start, end))) return true;
  }
  return false;
}

function pauseSeconds(pauseMs: number): number {
  return Math.min(maxDeadlineSeconds, Math.max(0, Math.ceil(pauseMs / 1000)));
}
