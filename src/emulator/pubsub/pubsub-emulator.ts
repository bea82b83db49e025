/** The embedded Pub/Sub: Google's gRPC service in memory, for tests, demonstrations and benchmarks. */
import { systemClock, type Clock } from "../../lib/clock.ts";
import { Faults, type Fault } from "../faults.ts";
import { GrpcServer } from "../grpc-server.ts";
import { RpcError } from "../rpc-error.ts";
import { Broker, type PartialSubscription } from "./broker.ts";
import { controlServer } from "./control-server.ts";
import { encodeContent, type ContentFields } from "./message-content.ts";
import { publisherDefinition, publisherHandlers } from "./publisher-service.ts";
import { decodeMessage, type PubsubMessage } from "./stored-message.ts";
import type { StreamingPullSession } from "./streaming-pull-session.ts";
import { subscriberDefinition, subscriberHandlers } from "./subscriber-service.ts";
import { subscriptionResource } from "./subscription-resource.ts";

export interface PubSubEmulatorOptions {
  /** 0, the default: any free one. */
  readonly port?: number;
  readonly clock?: Clock;
  readonly faults?: readonly Fault[];
}

/** A running server, with handles that reach past gRPC and are not subject to faults. */
export interface PubSubEmulator {
  readonly host: string;
  readonly port: number;
  readonly faults: Faults;
  createTopic(name: string): void;
  createSubscription(subscription: PartialSubscription): void;
  /** What the subscription has is gone. @throws RpcError NOT_FOUND */
  deleteSubscription(name: string): void;
  /** Publishes without the limits of a request and returns the message ids. */
  publish(topic: string, messages: readonly ContentFields[]): string[];
  /** @throws RpcError NOT_FOUND */
  topic(name: string): TopicHandle;
  /** @throws RpcError NOT_FOUND */
  subscription(name: string): SubscriptionHandle;
  /** Deletes everything, as `POST /reset` does; the fault script and its counts go on. */
  reset(): void;
  /** Cuts all connections, and takes new ones. */
  disconnectAll(): void;
  /** Ends open streams with UNAVAILABLE, lets other calls end, and stops. */
  close(): Promise<void>;
}

export interface TopicHandle {
  /** Messages published so far. */
  readonly published: number;
}

export interface SubscriptionHandle {
  /** Messages handed out, with a lease that runs. */
  readonly outstanding: number;
  /** Messages neither acked nor handed out. */
  readonly backlog: number;
  /** Every message that is not acked, in order of publication. */
  messages(): PubsubMessage[];
}

/** How long other calls than streams may take to end when the server closes. */
const closeGraceMs = 1000;

/** Starts the server on 127.0.0.1. Rejects when the port is taken. */
export async function startPubSubEmulator(options: PubSubEmulatorOptions = {}): Promise<PubSubEmulator> {
  const clock = options.clock ?? systemClock;
  const publisher = publisherDefinition();
  const subscriber = subscriberDefinition();
  const methods = [
    ...Object.keys(publisher),
    ...Object.keys(subscriber),
    "StreamingPull.deliver",
    "StreamingPull.message",
  ];
  const faults = new Faults(options.faults, methods, clock);
  const broker = new Broker(clock);
  const server = new GrpcServer(controlServer(() => broker.clear()));
  const sessions = new Set<StreamingPullSession>();
  const host = { server, faults, clock };
  server.addService(publisher, publisherHandlers(host, broker));
  server.addService(subscriber, subscriberHandlers(host, broker, sessions));
  await server.listen(options.port);
  return {
    host: server.host,
    port: server.port,
    faults,
    createTopic: (name) => void broker.createTopic(name),
    createSubscription: (subscription) => void broker.createSubscription(subscriptionResource(subscription)),
    deleteSubscription: (name) => broker.deleteSubscription(name),
    publish: (topic, messages) => broker.publish(topic, messages.map(encodeContent)),
    topic: (name) => broker.topic(name),
    subscription: (name) => {
      const subscription = broker.subscription(name);
      return {
        get outstanding() {
          return subscription.outstanding;
        },
        get backlog() {
          return subscription.backlog;
        },
        messages: () =>
          [...subscription.unacked()].map(decodeMessage).toSorted((a, b) => Number(a.messageId) - Number(b.messageId)),
      };
    },
    reset: () => broker.clear(),
    disconnectAll: () => server.disconnectAll(),
    async close() {
      for (const session of sessions) session.fail(new RpcError("UNAVAILABLE", "The embedded Pub/Sub is closing"));
      await server.close(closeGraceMs);
      broker.clear();
    },
  };
}
