/** Which topic a subscription belongs to. */
import * as grpc from "@grpc/grpc-js";
import protobuf from "protobufjs";
import { type Clock, pause } from "../lib/clock.ts";
import { type Credentials, type Endpoint, openClient } from "../lib/endpoint.ts";
import { callUnary, routingHeader, statusOf } from "../lib/raw-call.ts";
import { bytesTag } from "../lib/wire-format.ts";
import { WireCursor } from "./wire-cursor.ts";

export interface SubscriptionTopicOptions {
  /** `projects/P/subscriptions/S` */
  readonly subscription: string;
  readonly endpoint: Endpoint;
  readonly credentials: Credentials | undefined;
  readonly clock: Clock;
}

const getSubscriptionPath = "/google.pubsub.v1.Subscriber/GetSubscription";
const callTimeoutMs = 10_000;
const tries = 3;
const retryMs = 1000;

/** GetSubscriptionRequest, and the topic in a Subscription. */
const subscriptionName = bytesTag(1);
const topicName = bytesTag(2);

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
 * @returns `projects/P/topics/T`, or undefined when it cannot be seen: we have no right to (pubsub.subscriptions.get), there is
 *          no such subscription, or no answer
 */
export async function subscriptionTopic(
  options: SubscriptionTopicOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
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
    for (let left = tries; left > 0 && !signal.aborted; left--) {
      try {
        return topicIn(await callUnary(call));
      } catch (error) {
        if (!passing.has(statusOf(error))) return undefined;
        if (left > 1) await pause(clock, retryMs, signal);
      }
    }
    return undefined;
  } finally {
    client.close();
  }
}

function topicIn(bytes: Buffer): string | undefined {
  const cursor = new WireCursor(bytes);
  while (cursor.position < bytes.length) {
    const tag = cursor.varint32(bytes.length);
    if (tag === topicName) {
      const end = cursor.part(bytes.length);
      return bytes.toString("utf8", cursor.position, end);
    }
    cursor.skip(tag, bytes.length);
  }
  return undefined;
}
