/** All streams of a subscription: opened, renewed and stopped together. What their ends tell is the subscription's health. */
import { randomUUID } from "node:crypto";
import type * as grpc from "@grpc/grpc-js";
import { routingHeader, statusName } from "../lib/raw-call.ts";
import type { PullCallOptions } from "./pull-call.ts";
import type { PullFailure } from "./pull-failure.ts";
import type { PullHealth } from "./pull-health.ts";
import type { PullObserver } from "./pull-observer.ts";
import { PullStream } from "./pull-stream.ts";

export interface PullOptions {
  readonly streams: number;
  /** Over all streams; a response that overshoots is kept, and then nothing is read until there is room again. */
  readonly maxOutstandingMessages: number;
  readonly maxOutstandingBytes: number;
}

export interface PullStreamsOptions extends Omit<PullCallOptions, "metadata" | "terms" | "onAnswering"> {
  /** `projects/P/subscriptions/S` */
  readonly subscription: string;
  readonly pull: PullOptions;
  readonly health: PullHealth;
  readonly observer: PullObserver;
  /** The subscription was missing, and is there again. */
  readonly onReturn: () => void;
}

export class PullStreams {
  readonly #options: PullStreamsOptions;
  readonly #streams: readonly PullStream[];
  readonly #running: Promise<void>[] = [];
  #generation = 0;
  #wakeOpener = (): void => {};

  constructor(options: PullStreamsOptions) {
    this.#options = options;
    const clientId = randomUUID();
    this.#streams = Array.from({ length: options.pull.streams }, (_, i) => this.#stream(i, clientId));
  }

  /** Counts how often the subscription was found missing: what comes from now on belongs to another one. */
  get generation(): number {
    return this.#generation;
  }

  /** Opens the streams again and again. Resolves when the service accepts one of them, or when `signal` is aborted. */
  async open(signal: AbortSignal): Promise<void> {
    const accepted = new Promise<void>((resolve) => {
      this.#wakeOpener = resolve;
    });
    const abort = (): void => this.#wakeOpener();
    signal.addEventListener("abort", abort, { once: true });
    this.#running.push(...this.#streams.map((stream) => stream.run()));
    await accepted;
    signal.removeEventListener("abort", abort);
  }

  /** Each stream is followed by another, with a window of its own. */
  renew(): void {
    for (const stream of this.#streams) stream.renew();
  }

  stop(): void {
    for (const stream of this.#streams) stream.stop();
    this.#wakeOpener();
  }

  /** Resolves when all streams have ended after `stop`. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  #stream(index: number, clientId: string): PullStream {
    const { subscription, pull } = this.#options;
    return new PullStream({
      ...this.#options,
      metadata: routingHeader("subscription", subscription),
      terms: {
        subscription,
        clientId,
        maxOutstandingMessages: Math.ceil(pull.maxOutstandingMessages / pull.streams),
        maxOutstandingBytes: Math.ceil(pull.maxOutstandingBytes / pull.streams),
      },
      onAnswering: () => this.#answers(index),
      onEnd: (code, failure, failures) => this.#ended(index, code, failure, failures),
    });
  }

  #answers(index: number): void {
    const { health, observer, onReturn } = this.#options;
    const wasMissing = health.state === "NOT_FOUND";
    if (health.streamAnswers(index)) observer.streamOpened();
    if (wasMissing) onReturn();
    this.#wakeOpener();
  }

  #ended(index: number, code: grpc.status, failure: PullFailure, failures: number): void {
    const { health, observer } = this.#options;
    if (failure.state === "NOT_FOUND") this.#generation++;
    if (health.streamEnded(index, failure, failures)) observer.streamClosed(statusName(code));
  }
}
