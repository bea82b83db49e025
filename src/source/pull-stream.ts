/** One StreamingPull stream, opened again whenever it ends: streams always end. */
import * as grpc from "@grpc/grpc-js";
import { type Clock, pause, type Timer } from "../lib/clock.ts";
import { asBytes } from "../lib/raw-call.ts";
import { backoffMs } from "../lib/retry.ts";
import type { FlowControl } from "./flow-control.ts";
import { type PullFailure, pullFailure } from "./pull-failure.ts";
import {
  deadlineRequest,
  keepAliveRequest,
  firstRequest,
  type StreamTerms,
  streamingPullPath,
} from "./pull-request.ts";

export interface PullStreamOptions {
  readonly client: grpc.Client;
  readonly metadata: grpc.Metadata;
  /** Everything but the deadline, which may differ each time a stream is opened. */
  readonly terms: Omit<StreamTerms, "deadlineSeconds">;
  readonly deadlineSeconds: () => number;
  readonly flow: FlowControl;
  readonly clock: Clock;
  readonly random: () => number;
  /** The service accepts the stream. */
  readonly onAnswering: () => void;
  /** @param deadlineSeconds for how long the service leaves the messages of this response to us */
  readonly onResponse: (bytes: Buffer, deadlineSeconds: number) => void;
  /** The stream has ended. @param failures how many tries in a row have failed, this one included */
  readonly onEnd: (code: grpc.status, failure: PullFailure, failures: number) => void;
}

/** The service closes streams on which the client is silent. */
const keepAliveMs = 30_000;
/** Streams are cut after 30 minutes; up to two minutes before that, so that they do not all go at once. */
const maxAgeMs = 29.5 * 60_000;
const ageSpreadMs = 2 * 60_000;
/** A service that has neither answered nor refused by then (some send no headers before the first message) accepts the stream. */
const silenceMs = 1000;
/** A stream that lived so long was a success, whatever its end. */
const provenMs = 10_000;
/** After its half-close a stream gets so long to hand over what is on its way. */
const endGraceMs = 1000;

interface StreamEnd {
  readonly code: grpc.status;
  readonly details: string;
  /** It brought messages or lived long: the next try need not wait long. */
  readonly success: boolean;
}

export class PullStream {
  readonly #options: PullStreamOptions;
  readonly #stop = new AbortController();
  #call: grpc.ClientDuplexStream<Buffer, Buffer> | undefined;
  #failures = 0;

  constructor(options: PullStreamOptions) {
    this.#options = options;
  }

  /** Opens the stream again and again. Resolves when it has ended after `stop`. */
  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const end = await this.#runOnce();
      if (this.#stop.signal.aborted) return;
      const failure = pullFailure(end.code, end.details, this.#options.terms.subscription);
      if (end.success) this.#failures = 0;
      this.#options.onEnd(end.code, failure, ++this.#failures);
      const waitMs = backoffMs(this.#failures - 1, failure.backoff, this.#options.random);
      await pause(this.#options.clock, waitMs, this.#stop.signal);
    }
  }

  /** Ends the stream for good; what the service has sent before it notices still arrives. */
  stop(): void {
    this.#stop.abort();
    this.#call?.end();
  }

  #runOnce(): Promise<StreamEnd> {
    const { clock, flow } = this.#options;
    const openedAt = clock.monotonic();
    const timers = new StreamTimers(clock);
    const deadline = new StreamDeadline(this.#options.deadlineSeconds());
    let brought = false;
    let forgetRead = (): void => {};
    const call = this.#openCall((read) => {
      forgetRead = flow.whenOpen(read);
    });
    this.#call = call;
    call.write(firstRequest({ ...this.#options.terms, deadlineSeconds: deadline.sent }));

    const answering = (): void => {
      timers.cancel("silence");
      this.#options.onAnswering();
    };
    const checkSilence = (): void => {
      const connected = this.#options.client.getChannel().getConnectivityState(false) === grpc.connectivityState.READY;
      if (connected) answering();
      else timers.set("silence", silenceMs, checkSilence);
    };
    const keepAlive = (): void => {
      call.write(deadline.renew(this.#options.deadlineSeconds()));
      timers.set("keepAlive", keepAliveMs, keepAlive);
    };
    const finish = (): void => {
      timers.cancel("keepAlive");
      timers.set("cut", endGraceMs, () => call.cancel());
    };
    timers.set("silence", silenceMs, checkSilence);
    timers.set("keepAlive", keepAliveMs, keepAlive);
    timers.set("age", maxAgeMs - this.#options.random() * ageSpreadMs, () => call.end());
    call.once("metadata", answering);
    call.once("finish", finish);
    call.on("data", (bytes: Buffer) => {
      brought = true;
      this.#options.onResponse(bytes, deadline.granted);
    });
    return new Promise((resolve) => {
      // The status event tells the same and comes after it; without a listener the error would be thrown.
      call.on("error", () => {});
      call.once("status", ({ code, details }: grpc.StatusObject) => {
        timers.cancelAll();
        forgetRead();
        this.#call = undefined;
        resolve({ code, details, success: brought || clock.monotonic() - openedAt >= provenMs });
      });
    });
  }

  /** @param whenOpen is given every read of the call, to let it through when there is room */
  #openCall(whenOpen: (read: () => void) => void): grpc.ClientDuplexStream<Buffer, Buffer> {
    const { client, metadata } = this.#options;
    return client.makeBidiStreamRequest(streamingPullPath, asBytes, asBytes, metadata.clone(), {
      interceptors: [(options, nextCall) => new GatedCall(nextCall(options), whenOpen)],
    });
  }
}

/** The call beneath an interceptor; grpc-js does not export the type by name. */
type InnerCall = ConstructorParameters<typeof grpc.InterceptingCall>[0];

/** Holds back reads, so that HTTP/2 flow control stops the service, and no response waits unseen in between. */
class GatedCall extends grpc.InterceptingCall {
  readonly #whenOpen: (read: () => void) => void;

  constructor(call: InnerCall, whenOpen: (read: () => void) => void) {
    super(call);
    this.#whenOpen = whenOpen;
  }

  override startRead(): void {
    this.#whenOpen(() => super.startRead());
  }
}

/** The deadline a stream asks for, renewed with its keep-alive. */
class StreamDeadline {
  sent: number;
  #before: number;

  constructor(seconds: number) {
    this.sent = seconds;
    this.#before = seconds;
  }

  /** Messages may have been sent before the service saw the last change: the shorter deadline counts. */
  get granted(): number {
    return Math.min(this.sent, this.#before);
  }

  /** The keep-alive request: with the new deadline if it has changed. */
  renew(seconds: number): Buffer {
    this.#before = this.sent;
    this.sent = seconds;
    return this.sent === this.#before ? keepAliveRequest : deadlineRequest(seconds);
  }
}

/** The timers of one stream, by name; all end with it. */
class StreamTimers {
  readonly #clock: Clock;
  readonly #timers = new Map<string, Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  set(name: string, delayMs: number, callback: () => void): void {
    this.cancel(name);
    this.#timers.set(name, this.#clock.setTimer(callback, delayMs));
  }

  cancel(name: string): void {
    this.#timers.get(name)?.cancel();
    this.#timers.delete(name);
  }

  cancelAll(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }
}
