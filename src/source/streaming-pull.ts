/** A Pub/Sub subscription, pulled by streams; acks, give-backs and extensions go by unary calls. */
import { status } from "@grpc/grpc-js";
import type * as grpc from "@grpc/grpc-js";
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import { pause } from "../lib/clock.ts";
import { type Credentials, type Endpoint, openClient } from "../lib/endpoint.ts";
import { LimitedLog } from "../lib/limited-log.ts";
import type { Fates, MessageBatch, PipelineState } from "../message.ts";
import { Arrivals } from "./arrivals.ts";
import { FlowControl } from "./flow-control.ts";
import { HeldBatches } from "./held-batches.ts";
import type { LeaseOptions } from "./lease-manager.ts";
import { PullHealth } from "./pull-health.ts";
import type { PullObserver } from "./pull-observer.ts";
import { type PullOptions, PullStreams } from "./pull-streams.ts";
import { PulledBatch } from "./pulled-batch.ts";
import type { SubscriptionProperties } from "./response-layout.ts";
import { Reception } from "./reception.ts";
import type { Source } from "./source.ts";
import { SubscriberRequests } from "./subscriber-requests.ts";
import { subscriptionDetails } from "./subscription-details.ts";
import { Pulse } from "./transit.ts";

export interface StreamingPullOptions {
  /** `projects/P/subscriptions/S` */
  readonly subscription: string;
  readonly pull: PullOptions;
  readonly leases: LeaseOptions;
  readonly endpoint: Endpoint;
  readonly credentials: Credentials | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: PullObserver;
  readonly random?: () => number;
}

/** What a stream may have on its way to us: enough for 40 MB/s over 100 ms. */
const flowControlWindow = 4 * 1024 * 1024;

/** How long `close` waits for the service. */
const closeTimeoutMs = 5000;

export class StreamingPull implements Source {
  readonly #options: StreamingPullOptions;
  readonly #streamClient: grpc.Client;
  readonly #requestClient: grpc.Client;
  readonly #requests: SubscriberRequests;
  readonly #held: HeldBatches;
  readonly #flow: FlowControl;
  readonly #streams: PullStreams;
  readonly #health: PullHealth;
  readonly #arrivals = new Arrivals<PulledBatch>();
  readonly #reception: Reception;
  readonly #pulse: Pulse;
  readonly #closing = new AbortController();
  #properties: SubscriptionProperties = { exactlyOnce: false, ordered: false };
  readonly #log: LimitedLog;
  #stopping = false;
  /** Resolves when the streams have ended, and what came too late is about to be given back. */
  #pulled: Promise<void> = Promise.resolve();

  constructor(options: StreamingPullOptions) {
    const { subscription, endpoint, credentials, clock, log, observer, random = Math.random } = options;
    this.#options = options;
    this.#streamClient = openClient(endpoint, credentials, { "grpc-node.flow_control_window": flowControlWindow });
    this.#requestClient = openClient(endpoint, credentials);
    this.#flow = new FlowControl(options.pull);
    this.#requests = new SubscriberRequests({
      subscription,
      client: this.#requestClient,
      clock,
      log,
      observer,
      isCrowded: () => this.#flow.isFull,
      random,
    });
    this.#health = new PullHealth(subscription, log);
    this.#log = new LimitedLog(log, clock);
    const [requests, flow, arrivals] = [this.#requests, this.#flow, this.#arrivals];
    this.#held = new HeldBatches({
      ...options,
      random,
      requests,
      flow,
      window: options.pull.maxOutstandingMessages,
      onAway: () => this.#streams.renew(),
    });
    const { leases, returns, ordered } = this.#held;
    this.#reception = new Reception({
      clock,
      requests,
      leases,
      arrivals,
      settlements: ordered,
      returns,
      heldMessages: () => flow.messages,
      onDropped: (messages, bytes) => flow.remove(messages, bytes),
      onGivenBack: (nacks) => this.#held.goAway(nacks),
    });
    this.#pulse = new Pulse(clock);
    this.#streams = new PullStreams({
      ...options,
      client: this.#streamClient,
      windowBytes: flowControlWindow,
      flow: this.#flow,
      health: this.#health,
      random,
      deadlineSeconds: () => leases.extensionSeconds,
      onResponse: (bytes, deadlineSeconds, ageMs) => this.#receive(bytes, deadlineSeconds, ageMs),
      onReturn: () => void this.#look(),
    });
  }

  get state(): PipelineState {
    return this.#health.state;
  }

  get stateReason(): string {
    return this.#health.reason;
  }

  /**
   * Opens the streams; nothing is read from them before `batches`. Resolves when the service accepts one of them
   * (or when `signal` is aborted): a missing subscription or permission is answered at once, and tried again for ever.
   */
  async open(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#pulse.start();
    void this.#look();
    await this.#streams.open(signal);
  }

  /** To be iterated once. Aborting `signal` stops pulling; what was not handed on is given back when the streams have ended. */
  async *batches(signal: AbortSignal): AsyncIterable<MessageBatch> {
    const stop = (): void => this.#stopPulling();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    this.#flow.open();
    try {
      for (;;) {
        const batch = await this.#arrivals.next();
        if (!batch) return;
        yield batch;
      }
    } finally {
      signal.removeEventListener("abort", stop);
      stop();
    }
  }

  /** A batch that is not held any more, because it is settled already or the source is closed, is left alone. */
  async settle(batch: MessageBatch, fates: Fates): Promise<void> {
    if (!(batch instanceof PulledBatch)) throw new TypeError("The batch does not come from this source.");
    await this.#held.settle(batch, fates);
  }

  async close(): Promise<void> {
    this.#stopPulling();
    this.#pulse.stop();
    this.#closing.abort();
    const finished = new AbortController();
    const finish = this.#finish().finally(() => finished.abort());
    await Promise.race([finish, pause(this.#options.clock, closeTimeoutMs, finished.signal)]);
    this.#requests.close();
    this.#held.leases.close();
    this.#streamClient.close();
    this.#requestClient.close();
    this.#health.leave("STOPPED");
  }

  /** Resolves when the service has all that is to be told it. */
  async #finish(): Promise<void> {
    await this.#pulled;
    await this.#held.finish();
  }

  /** Says in the log what the subscription is set to; without the right to see it, what the responses tell has to do. */
  async #look(): Promise<void> {
    const { subscription, log } = this.#options;
    const details = await subscriptionDetails(this.#options, this.#closing.signal);
    if (!("code" in details)) {
      log.info({ subscription, ...details }, "the subscription as it is set up");
      this.#learn(details);
    } else if (details.code === status.PERMISSION_DENIED) {
      log.warn(
        { subscription },
        "not allowed to see how the subscription is set up (pubsub.subscriptions.get, roles/pubsub.viewer); going on without",
      );
    }
  }

  #learn({ exactlyOnce, ordered }: SubscriptionProperties): void {
    this.#properties = { exactlyOnce, ordered };
    this.#requests.exactlyOnce = exactlyOnce;
    this.#held.leases.exactlyOnce = exactlyOnce;
  }

  #receive(bytes: Buffer, deadlineSeconds: number, ageMs: number): void {
    const batch = this.#parse(bytes);
    if (batch?.properties) this.#learn(batch.properties);
    if (!batch || batch.length === 0) return;
    this.#options.observer.received(batch.length, bytes.length);
    this.#flow.add(batch.length, batch.messageBytes);
    this.#reception.receive(batch, this.#properties, deadlineSeconds, Math.max(ageMs, this.#pulse.lagMs));
    this.#held.tellOutstanding();
  }

  #parse(bytes: Buffer): PulledBatch | undefined {
    try {
      return PulledBatch.parse(bytes, this.#streams.generation);
    } catch (error) {
      this.#options.observer.responseDropped(bytes.length);
      const { subscription } = this.#options;
      this.#log.warn(
        { subscription, err: error },
        "a response of Pub/Sub cannot be read; its messages will be delivered again",
      );
      return undefined;
    }
  }

  #stopPulling(): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#health.leave("DRAINING");
    this.#streams.stop();
    this.#flow.lift();
    this.#arrivals.end();
    this.#pulled = this.#giveBackArrived();
  }

  /** What is given back before the streams have ended would come again by one of them. */
  async #giveBackArrived(): Promise<void> {
    await this.#streams.ended();
    await this.#reception.settled();
    for (const batch of this.#arrivals.takeRest()) this.#held.giveBack(batch);
  }
}
