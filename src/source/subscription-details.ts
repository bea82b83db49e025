/** What a subscription is set to (GetSubscription). */
import * as grpc from "@grpc/grpc-js";
import protobuf from "protobufjs";
import { type Clock, pause } from "../lib/clock.ts";
import { type Credentials, type Endpoint, openClient } from "../lib/endpoint.ts";
import { callUnary, detailsOf, routingHeader, statusOf } from "../lib/raw-call.ts";
import { bytesTag, varintTag } from "../lib/wire-format.ts";
import type { SubscriptionProperties } from "./response-layout.ts";
import { WireCursor } from "./wire-cursor.ts";

export interface SubscriptionDetailsOptions {
  /** `projects/P/subscriptions/S` */
  readonly subscription: string;
  readonly endpoint: Endpoint;
  readonly credentials: Credentials | undefined;
  readonly clock: Clock;
}

export interface SubscriptionDetails extends SubscriptionProperties {
  /** `projects/P/topics/T` */
  readonly topic: string;
  readonly ackDeadlineSeconds: number;
}

/** Why the details cannot be seen: the status of the last try. */
export interface SubscriptionUnseen {
  readonly code: grpc.status;
  /** The service's or the channel's words about it. */
  readonly details: string;
}

const getSubscriptionPath = "/google.pubsub.v1.Subscriber/GetSubscription";
const callTimeoutMs = 10_000;
const tries = 3;
const retryMs = 1000;

/** GetSubscriptionRequest */
const subscriptionName = bytesTag(1);
/** Subscription */
const topicName = bytesTag(2);
const ackDeadline = varintTag(5);
const enableMessageOrdering = varintTag(10);
const enableExactlyOnceDelivery = varintTag(16);

/** Another try may have another answer. */
const passing: ReadonlySet<grpc.status> = new Set([
  grpc.status.UNAVAILABLE,
  grpc.status.DEADLINE_EXCEEDED,
  grpc.status.ABORTED,
  grpc.status.INTERNAL,
  grpc.status.RESOURCE_EXHAUSTED,
  grpc.status.UNKNOWN,
]);

/**
 * Asks the service, several times if need be.
 *
 * @returns the details, or why they cannot be seen: we have no right to (pubsub.subscriptions.get), there is no such
 *          subscription, or no answer
 */
export async function subscriptionDetails(
  options: SubscriptionDetailsOptions,
  signal: AbortSignal,
): Promise<SubscriptionDetails | SubscriptionUnseen> {
  const { subscription, endpoint, credentials, clock } = options;
  const client = openClient(endpoint, credentials);
  const call = {
    client,
    path: getSubscriptionPath,
    metadata: routingHeader("subscription", subscription),
    request: Buffer.from(protobuf.Writer.create().uint32(subscriptionName).string(subscription).finish()),
    timeoutMs: callTimeoutMs,
    signal,
  };
  try {
    for (let left = tries; !signal.aborted; left--) {
      try {
        return readSubscription(await callUnary(call));
      } catch (error) {
        const code = statusOf(error);
        if (left === 1 || !passing.has(code)) return { code, details: detailsOf(error) };
        await pause(clock, retryMs, signal);
      }
    }
    return { code: grpc.status.CANCELLED, details: "" };
  } finally {
    client.close();
  }
}

function readSubscription(bytes: Buffer): SubscriptionDetails {
  const cursor = new WireCursor(bytes);
  const end = bytes.length;
  let [topic, ackDeadlineSeconds, ordered, exactlyOnce] = ["", 10, false, false];
  while (cursor.position < end) {
    const tag = cursor.varint32(end);
    if (tag === topicName) {
      const partEnd = cursor.part(end);
      topic = bytes.toString("utf8", cursor.position, partEnd);
      cursor.position = partEnd;
    } else if (tag === ackDeadline) ackDeadlineSeconds = cursor.varint32(end);
    else if (tag === enableMessageOrdering) ordered = cursor.varint32(end) !== 0;
    else if (tag === enableExactlyOnceDelivery) exactlyOnce = cursor.varint32(end) !== 0;
    else cursor.skip(tag, end);
  }
  return { topic, ackDeadlineSeconds, ordered, exactlyOnce };
}
