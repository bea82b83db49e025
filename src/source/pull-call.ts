/** One StreamingPull call from its opening to its end. */
import * as grpc from "@grpc/grpc-js";
import type { Clock } from "../lib/clock.ts";
import { asBytes } from "../lib/raw-call.ts";
import type { FlowControl } from "./flow-control.ts";
import { NamedTimers } from "./named-timers.ts";
import { firstRequest, StreamDeadline, type StreamTerms, streamingPullPath } from "./pull-request.ts";
import { WindowAge } from "./transit.ts";

export interface PullCallOptions {
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
  /** How many bytes the service may send ahead of what is read. */
  readonly windowBytes: number;
  /**
   * @param deadlineSeconds for how long the service leaves the messages of this response to us
   * @param ageMs how long ago it may have sent them
   */
  readonly onResponse: (bytes: Buffer, deadlineSeconds: number, ageMs: number) => void;
}

export interface CallEnd {
  readonly code: grpc.status;
  readonly details: string;
  /** It brought messages or lived long: the next try need not wait long. */
  readonly success: boolean;
}

/** The service closes streams on which the client is silent. */
const keepAliveMs = 30_000;
/** Streams are cut after 30 minutes; up to two and a half minutes before that, so that they do not all go at once. */
const maxAgeMs = 29.5 * 60_000;
const ageSpreadMs = 2 * 60_000;
/** A service that has neither answered nor refused by then (some send no headers before the first message) accepts the stream. */
const silenceMs = 1000;
/** A stream that lived so long was a success, whatever its end. */
const provenMs = 10_000;
/** After its half-close a stream gets so long to hand over what is on its way. */
const endGraceMs = 1000;

export class PullCall {
  /** Resolves when the call is over, and nothing of it is left behind. */
  readonly ended: Promise<CallEnd>;
  readonly #options: PullCallOptions;
  readonly #openedAt: number;
  readonly #timers: NamedTimers;
  readonly #deadline: StreamDeadline;
  readonly #call: grpc.ClientDuplexStream<Buffer, Buffer>;
  #brought = false;
  #forgetRead = (): void => {};

  constructor(options: PullCallOptions) {
    this.#options = options;
    this.#openedAt = options.clock.monotonic();
    this.#timers = new NamedTimers(options.clock);
    this.#deadline = new StreamDeadline(options.deadlineSeconds());
    this.#call = this.#open();
    this.ended = this.#end();
    this.#call.write(firstRequest({ ...options.terms, deadlineSeconds: this.#deadline.sent }));
    this.#timers.set("silence", silenceMs, () => this.#checkSilence());
    this.#timers.set("keepAlive", keepAliveMs, () => this.#keepAlive());
    this.#timers.set("age", maxAgeMs - options.random() * ageSpreadMs, () => this.halfClose());
  }

  /** Asks the service to end the call; what it has sent before it notices still arrives. */
  halfClose(): void {
    this.#timers.cancel("keepAlive");
    this.#timers.set("cut", endGraceMs, () => this.#call.cancel());
    this.#call.end();
  }

  #open(): grpc.ClientDuplexStream<Buffer, Buffer> {
    const { client, metadata, flow, clock, windowBytes } = this.#options;
    const window = new WindowAge(windowBytes, clock.monotonic());
    const whenOpen = (read: () => void): void => {
      this.#forgetRead = flow.whenOpen(() => {
        window.read(clock.monotonic());
        read();
      });
    };
    const call = client.makeBidiStreamRequest(streamingPullPath, asBytes, asBytes, metadata.clone(), {
      interceptors: [(options, nextCall) => new GatedCall(nextCall(options), whenOpen)],
    });
    call.once("metadata", () => this.#answering());
    call.on("data", (bytes: Buffer) => {
      this.#brought = true;
      this.#options.onResponse(bytes, this.#deadline.granted, window.arrived(bytes.length, clock.monotonic()));
    });
    return call;
  }

  #end(): Promise<CallEnd> {
    return new Promise((resolve) => {
      // The status event tells the same and comes after it; without a listener the error would be thrown.
      this.#call.on("error", () => {});
      this.#call.once("status", ({ code, details }: grpc.StatusObject) => {
        this.#timers.cancelAll();
        this.#forgetRead();
        const ageMs = this.#options.clock.monotonic() - this.#openedAt;
        resolve({ code, details, success: this.#brought || ageMs >= provenMs });
      });
    });
  }

  #answering(): void {
    this.#timers.cancel("silence");
    this.#options.onAnswering();
  }

  #checkSilence(): void {
    const state = this.#options.client.getChannel().getConnectivityState(false);
    if (state === grpc.connectivityState.READY) this.#answering();
    else this.#timers.set("silence", silenceMs, () => this.#checkSilence());
  }

  #keepAlive(): void {
    this.#call.write(this.#deadline.renew(this.#options.deadlineSeconds()));
    this.#timers.set("keepAlive", keepAliveMs, () => this.#keepAlive());
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
