/**
 * A subscription with ordering as the service keeps it, under a test's clock and without a network: messages of a key come in
 * order; one that is given back, or whose lease ends, comes again, with or without what was sent behind it. What is told of
 * messages is held against the order of their keys as it comes in.
 */
import * as grpc from "@grpc/grpc-js";
import { pubsubProtos } from "../../src/lib/protos.ts";
import { ackFailure } from "./ack-failure.ts";
import { encodeResponse } from "./fake-subscriber.ts";
import { ModelPullCall, type PullCallGate } from "./model-pull-call.ts";
import { chance, type Choose, pick } from "./random-choices.ts";
import type { VirtualClock } from "./virtual-clock.ts";

interface Message {
  readonly id: string;
  readonly key: string;
  state: "waiting" | "sent" | "acked";
  /** Of the last delivery. */
  ackId: string;
  leaseUntil: number;
  /** The client has asked to ack it, in order. */
  askedFor: boolean;
}

export interface SubscriptionTraits {
  readonly exactlyOnce: boolean;
  /** What was sent behind a message that comes again comes again with it. */
  readonly rewinds: boolean;
}

/** Shorter than an extension, and at least as long as any pause for which a message is given back. */
const longestPauseSeconds = 45;
const streamLeaseMs = 60_000;

type Answer = (error: Error | null, response?: Buffer) => void;

export class ModelSubscription {
  /** What the client did that it must not. */
  readonly faults: string[] = [];
  /** No fault from now on. */
  calm = false;
  /** No unary call is answered well, and none has an effect. */
  outage = false;
  /** Acks and changes of deadlines, as they came in. */
  readonly calls: {
    readonly at: number;
    readonly method: string;
    readonly ackIds: string[];
    readonly seconds: number;
  }[] = [];
  failedCalls = 0;
  givenBack = 0;
  readonly #traits: SubscriptionTraits;
  readonly #choose: Choose;
  readonly #clock: VirtualClock;
  readonly #keys = new Map<string, Message[]>();
  readonly #byAckId = new Map<string, Message>();
  /** What was told of each delivery. */
  readonly #told = new Map<string, "ack" | "nack">();
  readonly #readers = new Set<(bytes: Buffer) => void>();
  #deliveries = 0;

  constructor(traits: SubscriptionTraits, choose: Choose, clock: VirtualClock) {
    this.#traits = traits;
    this.#choose = choose;
    this.#clock = clock;
  }

  /** Stands in for a gRPC client. */
  get client(): grpc.Client {
    return {
      close: () => {},
      getChannel: () => ({ getConnectivityState: () => grpc.connectivityState.READY }),
      makeUnaryRequest: (path: string, _: unknown, __: unknown, request: Buffer, ...rest: unknown[]) =>
        this.#call(path.split("/").at(-1)!, request, rest.at(-1) as Answer),
      makeBidiStreamRequest: (...[, , , , options]: [string, unknown, unknown, unknown, PullCallGate]) =>
        new ModelPullCall(options, this.#readers),
    } as unknown as grpc.Client;
  }

  get settled(): boolean {
    return [...this.#keys.values()].every((messages) => messages.every(({ state }) => state === "acked"));
  }

  /** @param key empty: none */
  publish(key: string): void {
    const messages = this.#keys.get(key) ?? [];
    this.#keys.set(key, messages);
    const id = `${key || "loose"}-${messages.length}`;
    messages.push({ id, key, state: "waiting", ackId: "", leaseUntil: 0, askedFor: false });
  }

  /** Sends one response to somebody who reads, if there is anything to be sent. */
  deliver(most: number): void {
    this.#endLeases();
    const [reader] = this.#readers;
    if (!reader) return;
    const due: Message[] = [];
    for (let k = 0; k < most; k++) {
      const [, messages] = pick(this.#choose, [...this.#keys]);
      const message = messages.find(({ state }) => state === "waiting");
      if (!message) continue;
      this.#send(message);
      due.push(message);
    }
    if (due.length === 0) return;
    this.#readers.delete(reader);
    const { exactlyOnce } = this.#traits;
    const properties = { exactlyOnceDeliveryEnabled: exactlyOnce, messageOrderingEnabled: true };
    reader(
      encodeResponse(
        due.map(({ id, key, ackId }) => ({ ackId, messageId: id, orderingKey: key })),
        properties,
      ),
    );
  }

  #send(message: Message): void {
    this.#byAckId.delete(message.ackId);
    message.state = "sent";
    message.ackId = `${message.id}/${++this.#deliveries}`;
    message.leaseUntil = this.#clock.monotonic() + streamLeaseMs;
    this.#byAckId.set(message.ackId, message);
  }

  #endLeases(): void {
    const now = this.#clock.monotonic();
    for (const messages of this.#keys.values()) {
      for (const message of messages)
        if (message.state === "sent" && message.leaseUntil <= now) this.#comeAgain(message);
    }
  }

  #comeAgain(message: Message): void {
    const messages = this.#keys.get(message.key)!;
    const behind = message.key !== "" && this.#traits.rewinds ? messages.slice(messages.indexOf(message) + 1) : [];
    for (const each of [message, ...behind]) if (each.state === "sent") each.state = "waiting";
  }

  #call(method: string, request: Buffer, done: Answer): { cancel: () => void } {
    const answer = method === "GetSubscription" ? this.#describe() : this.#change(method, request);
    const delayMs = chance(this.#choose, 5) ? this.#choose(0, 8000) : this.#choose(1, 60);
    const send = (): void => (answer instanceof Error ? done(answer) : done(null, answer));
    this.#clock.setTimer(send, this.calm ? 1 : delayMs);
    return { cancel: () => {} };
  }

  #describe(): Buffer {
    const type = pubsubProtos().lookupType("google.pubsub.v1.Subscription");
    const { exactlyOnce: enableExactlyOnceDelivery } = this.#traits;
    return Buffer.from(
      type.encode(type.fromObject({ enableExactlyOnceDelivery, enableMessageOrdering: true })).finish(),
    );
  }

  #change(method: string, request: Buffer): Error | Buffer {
    const type = pubsubProtos().lookupType(`google.pubsub.v1.${method}Request`);
    const { ackIds, ackDeadlineSeconds: seconds = 0 } = type.decode(request) as unknown as {
      ackIds: string[];
      ackDeadlineSeconds?: number;
    };
    for (const ackId of ackIds) this.#note(ackId, method === "Acknowledge" ? "ack" : seconds);
    this.calls.push({ at: this.#clock.monotonic(), method, ackIds, seconds });
    const fails = this.outage || (!this.calm && chance(this.#choose, 10));
    if (fails) this.failedCalls++;
    const unavailable = Object.assign(new Error("14 UNAVAILABLE: "), { code: grpc.status.UNAVAILABLE, details: "" });
    // A failure that has no effect, or one that hides it.
    if (this.outage || (fails && chance(this.#choose, 50))) return unavailable;
    this.#endLeases();
    const failures: Record<string, string> = {};
    for (const ackId of ackIds) {
      const failure = this.#apply(ackId, method === "Acknowledge" ? undefined : seconds);
      if (failure) failures[ackId] = failure;
    }
    if (fails) return unavailable;
    return this.#traits.exactlyOnce && Object.keys(failures).length > 0 ? ackFailure(failures) : Buffer.alloc(0);
  }

  /** Holds what is told of a delivery against what was told before. */
  #note(ackId: string, what: "ack" | number): void {
    const id = ackId.replace(/\/\d+$/, "");
    const [key] = id.split(/-(?=\d+$)/);
    const isKeyed = key !== "loose";
    const messages = this.#keys.get(isKeyed ? key! : "")!;
    const message = messages.find((each) => each.id === id)!;
    const fate = what === "ack" ? "ack" : what <= longestPauseSeconds ? "nack" : undefined;
    const before = this.#told.get(ackId);
    // Leases live on until the ack is taken.
    const livesOn = before === "ack" && !fate;
    if (before && before !== fate && !livesOn) this.faults.push(`${ackId}: ${before}, then ${fate ?? "extended"}`);
    if (fate) this.#told.set(ackId, fate);
    if (fate === "nack") this.givenBack++;
    if (fate !== "ack") return;
    const earlier = isKeyed ? messages.slice(0, messages.indexOf(message)) : [];
    const passed = earlier.find((each) => each.state !== "acked" && !each.askedFor);
    if (passed) this.faults.push(`${ackId} is acked before ${passed.ackId || passed.id}`);
    message.askedFor = true;
  }

  /** @param seconds undefined: ack. @returns why it had no effect */
  #apply(ackId: string, seconds: number | undefined): string | undefined {
    const message = this.#byAckId.get(ackId);
    // An ack that comes late counts, as long as the message was not sent again, but not with exactly-once delivery.
    const isLate = message?.state === "waiting" && seconds === undefined && !this.#traits.exactlyOnce;
    if (!message || !(isLate || message.state === "sent")) return "PERMANENT_FAILURE_INVALID_ACK_ID";
    if (!this.calm && this.#traits.exactlyOnce) {
      if (chance(this.#choose, 4)) return "TRANSIENT_FAILURE_INTERNAL_ERROR";
      if (chance(this.#choose, 2)) {
        this.#comeAgain(message);
        return "PERMANENT_FAILURE_INVALID_ACK_ID";
      }
    }
    if (seconds === undefined) return this.#ack(message);
    if (seconds === 0) this.#comeAgain(message);
    else message.leaseUntil = this.#clock.monotonic() + seconds * 1000;
    return undefined;
  }

  #ack(message: Message): string | undefined {
    const messages = this.#keys.get(message.key)!;
    const earlier = message.key === "" ? [] : messages.slice(0, messages.indexOf(message));
    if (earlier.some(({ state }) => state !== "acked")) return "TRANSIENT_FAILURE_UNORDERED_ACK_ID";
    message.state = "acked";
    return undefined;
  }
}
