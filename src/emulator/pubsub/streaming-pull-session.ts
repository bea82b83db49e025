/**
 * One StreamingPull call.
 *
 * Of faults, every client message counts as a call of `StreamingPull`, the opening one included, every response with
 * messages as a call of `StreamingPull.deliver`, and every message in it as a call of `StreamingPull.message`. Messages
 * that a fault swallows stay held until their lease runs out, as they do when a network swallows them.
 */
import { Metadata, type ServerDuplexStream } from "@grpc/grpc-js";
import { pause } from "../../lib/clock.ts";
import { callEnding, endConnection, scriptedError, type CallEnding } from "../call-ending.ts";
import type { Fault } from "../faults.ts";
import { asRpcError, invalidArgument, type RpcError } from "../rpc-error.ts";
import type { MethodHost } from "../unary-method.ts";
import { ackConfirmation, deadlineConfirmation } from "./ack-failures.ts";
import { ackNumbersOf, scriptedAckFailures } from "./ack-methods.ts";
import type { Broker } from "./broker.ts";
import { Holder, type Delivery } from "./delivery.ts";
import { encodeReceived } from "./received-messages.ts";
import { readStreamingPullRequest, type StreamingPullRequest } from "./subscriber-requests.ts";
import type { Consumer } from "./consumers.ts";
import type { Subscription } from "./subscription.ts";
import {
  checkModifyDeadline,
  maxAckDeadlineSeconds,
  minAckDeadlineSeconds,
  type SubscriptionSettings,
} from "./subscription-settings.ts";

export type StreamingPullCall = ServerDuplexStream<Buffer, Buffer>;

/** `subscription_properties` = 4, of `exactly_once_delivery_enabled` = 1 and `message_ordering_enabled` = 2. */
function encodeProperties({ exactlyOnce, ordered }: SubscriptionSettings): Buffer {
  const fields = [...(exactlyOnce ? [0x08, 1] : []), ...(ordered ? [0x10, 1] : [])];
  return Buffer.from([0x22, fields.length, ...fields]);
}

export class StreamingPullSession implements Consumer {
  holder = new Holder(0);
  readonly #host: MethodHost;
  readonly #broker: Broker;
  readonly #call: StreamingPullCall;
  readonly #onClose: (session: StreamingPullSession) => void;
  #subscription: Subscription | undefined;
  #answersPings = false;
  /** The transport has enough for now, or a fault holds a response back. */
  #blocked = false;
  #closed = false;

  constructor(
    host: MethodHost,
    broker: Broker,
    call: StreamingPullCall,
    onClose: (session: StreamingPullSession) => void,
  ) {
    this.#host = host;
    this.#broker = broker;
    this.#call = call;
    this.#onClose = onClose;
    call.on("data", (bytes: Buffer) => this.#receive(bytes));
    call.on("drain", () => this.#unblock());
    call.on("end", () => this.#end());
    call.on("cancelled", () => this.#close());
  }

  get ready(): boolean {
    return !this.#blocked && !this.#closed;
  }

  deliver(deliveries: readonly Delivery[]): void {
    const { faults } = this.#host;
    const atMessage = faults.nextAmong("StreamingPull.message", deliveries.length);
    const fault = faults.next("StreamingPull.deliver");
    if (atMessage) void this.#deliverUnder(atMessage.fault, deliveries, atMessage.before);
    else if (fault) void this.#deliverUnder(fault, deliveries);
    else this.#send(this.#encode(deliveries));
  }

  subscriptionEnded(reason: RpcError): void {
    this.fail(reason);
  }

  /** Ends the stream with a status. */
  fail(error: RpcError): void {
    if (this.#closed) return;
    this.#close();
    this.#call.emit("error", error);
  }

  #receive(bytes: Buffer): void {
    if (this.#closed) return;
    const fault = this.#host.faults.next("StreamingPull");
    if (fault) void this.#takeUnder(fault, bytes);
    else this.#send(this.#take(bytes, undefined));
  }

  async #takeUnder(fault: Fault, bytes: Buffer): Promise<void> {
    const { server, clock } = this.#host;
    const ending = callEnding(fault);
    this.#call.pause();
    if (fault.goaway) server.goAway(this.#call);
    if (fault.delayMs && !fault.done) await pause(clock, fault.delayMs);
    if (ending && !ending.afterwards) return this.#endBy(fault, ending);
    const answer = this.#take(bytes, fault);
    if (fault.delayMs && fault.done) await pause(clock, fault.delayMs);
    if (ending) return this.#endBy(fault, ending);
    this.#send(answer);
    this.#call.resume();
  }

  /** @param before the fault comes at the message behind so many; absent: at the response as a whole */
  async #deliverUnder(fault: Fault, deliveries: readonly Delivery[], before?: number): Promise<void> {
    const { server, clock } = this.#host;
    const ending = callEnding(fault);
    this.#blocked = true;
    if (fault.goaway) server.goAway(this.#call);
    if (fault.delayMs) await pause(clock, fault.delayMs);
    if (!ending) {
      this.#send(this.#encode(deliveries));
      return this.#unblock();
    }
    const whole = ending.afterwards ? deliveries.length : 0;
    const arriving = before === undefined ? whole : before + (ending.afterwards ? 1 : 0);
    if (arriving === 0) return this.#endBy(fault, ending);
    if (!this.#closed) this.#call.write(this.#encode(deliveries.slice(0, arriving)), () => this.#endBy(fault, ending));
  }

  #encode(deliveries: readonly Delivery[]): Buffer {
    const { ackIds, settings } = this.#subscription!;
    const countAttempts = settings.deadLetter !== undefined;
    return encodeReceived(deliveries, { ackIds, countAttempts, tail: this.#properties });
  }

  /** Lets a request take effect and returns what is to be answered, if anything. */
  #take(bytes: Buffer, fault: Fault | undefined): Buffer | undefined {
    if (this.#closed) return undefined;
    try {
      const request = readStreamingPullRequest(bytes);
      if (this.#subscription) return this.#follow(this.#subscription, request, bytes, fault);
      this.#open(request);
    } catch (error) {
      this.fail(asRpcError(error));
    }
    return undefined;
  }

  #open(request: StreamingPullRequest): void {
    const subscription = this.#broker.attachedSubscription(request.subscription);
    this.holder = new Holder(
      streamAckDeadlineMs(request),
      request.maxOutstandingMessages > 0 ? request.maxOutstandingMessages : Infinity,
      request.maxOutstandingBytes > 0 ? request.maxOutstandingBytes : Infinity,
    );
    this.#answersPings = request.protocolVersion >= 1;
    this.#subscription = subscription;
    this.#call.sendMetadata(new Metadata());
    subscription.attach(this);
  }

  #follow(
    subscription: Subscription,
    request: StreamingPullRequest,
    bytes: Buffer,
    fault: Fault | undefined,
  ): Buffer | undefined {
    if (request.subscription) throw invalidArgument("Only the first message of a stream names the subscription");
    if (request.maxOutstandingMessages !== 0 || request.maxOutstandingBytes !== 0) {
      throw invalidArgument(
        "Only the first message of a stream sets max_outstanding_messages and max_outstanding_bytes",
      );
    }
    if (request.streamAckDeadlineSeconds !== 0) this.holder.ackDeadlineMs = streamAckDeadlineMs(request);
    const { ackIds, modifyDeadlineAckIds, modifyDeadlineSeconds } = request;
    if (modifyDeadlineAckIds.length !== 2 * modifyDeadlineSeconds.length) {
      throw invalidArgument("modify_deadline_ack_ids and modify_deadline_seconds differ in number");
    }
    for (const seconds of modifyDeadlineSeconds) checkModifyDeadline(seconds);
    const acks = { bytes, ranges: ackIds };
    const deadlines = { bytes, ranges: modifyDeadlineAckIds };
    const acked = ackNumbersOf(subscription, acks);
    const modified = ackNumbersOf(subscription, deadlines);
    if (acked.length + modified.length === 0) return this.#answersPings ? this.#properties : undefined;
    const scripted = scriptedAckFailures(fault);
    const ackFailures = subscription.acknowledge(acked, scripted);
    const deadlineFailures = subscription.modifyDeadlinesEach(modified, (i) => modifyDeadlineSeconds[i]!, scripted);
    if (!subscription.settings.exactlyOnce && !scripted) return undefined;
    return Buffer.concat([
      ackConfirmation(acks, ackFailures),
      deadlineConfirmation(deadlines, deadlineFailures),
      this.#properties,
    ]);
  }

  get #properties(): Buffer {
    return encodeProperties(this.#subscription!.settings);
  }

  #send(response: Buffer | undefined): void {
    if (response && !this.#closed && !this.#call.write(response)) this.#blocked = true;
  }

  #unblock(): void {
    this.#blocked = false;
    if (!this.#closed) this.#subscription?.distribute();
  }

  /** The client has no more to say; the service ends the stream. */
  #end(): void {
    if (this.#closed) return;
    this.#close();
    this.#call.end();
  }

  #endBy(fault: Fault, ending: CallEnding): void {
    const error = scriptedError(fault);
    if (error) return this.fail(error);
    this.#close();
    endConnection(this.#host.server, this.#call, ending);
  }

  #close(): void {
    this.#closed = true;
    this.#subscription?.detach(this);
    this.#onClose(this);
  }
}

function streamAckDeadlineMs({ streamAckDeadlineSeconds: seconds }: StreamingPullRequest): number {
  if (seconds < minAckDeadlineSeconds || seconds > maxAckDeadlineSeconds) {
    throw invalidArgument(
      `stream_ack_deadline_seconds is ${seconds}; it goes from ${minAckDeadlineSeconds} to ${maxAckDeadlineSeconds}`,
    );
  }
  return seconds * 1000;
}
