/** A plain gRPC client for any Pub/Sub server on loopback: the embedded one, or Google's emulator. */
import * as grpc from "@grpc/grpc-js";
import { pubsubProtos, serviceDefinition } from "../../src/lib/protos.ts";

export interface TestMessage {
  readonly data: Buffer;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly orderingKey?: string;
}

export interface ReceivedMessage {
  readonly data: Buffer;
  readonly attributes: Readonly<Record<string, string>>;
  readonly messageId: string;
  readonly orderingKey: string;
}

/** One handing out of a message. */
export interface Delivery {
  readonly ackId: string;
  readonly message: ReceivedMessage;
  /** 0 without a dead-letter policy. */
  readonly deliveryAttempt: number;
}

interface ReceivedResponse {
  readonly receivedMessages: readonly Delivery[];
}

export type PullStream = grpc.ClientDuplexStream<
  object,
  ReceivedResponse & { readonly subscriptionProperties: object }
>;

type Unary = (request: object, callback: (error: grpc.ServiceError | null, response: unknown) => void) => void;

export class PubSubClient {
  readonly #publisher: grpc.Client;
  readonly #subscriber: grpc.Client;

  constructor(address: string) {
    this.#publisher = client("google.pubsub.v1.Publisher", address);
    this.#subscriber = client("google.pubsub.v1.Subscriber", address);
  }

  async createTopic(name: string): Promise<void> {
    await call(this.#publisher, "CreateTopic", { name });
  }

  async createSubscription(name: string, topic: string, options: object = {}): Promise<void> {
    await call(this.#subscriber, "CreateSubscription", { name, topic, ackDeadlineSeconds: 10, ...options });
  }

  async deleteSubscription(subscription: string): Promise<void> {
    await call(this.#subscriber, "DeleteSubscription", { subscription });
  }

  /** Publishes in requests of at most 1,000 messages and returns the message ids, in order. */
  async publish(topic: string, messages: readonly TestMessage[]): Promise<string[]> {
    const ids: string[] = [];
    for (let i = 0; i < messages.length; i += 1000) {
      const request = { topic, messages: messages.slice(i, i + 1000) };
      const { messageIds } = (await call(this.#publisher, "Publish", request)) as { messageIds: string[] };
      ids.push(...messageIds);
    }
    return ids;
  }

  /** One unary pull; without messages it waits for some, unless told otherwise. */
  async pull(subscription: string, maxMessages = 1000, returnImmediately = false): Promise<readonly Delivery[]> {
    const request = { subscription, maxMessages, returnImmediately };
    return ((await call(this.#subscriber, "Pull", request)) as ReceivedResponse).receivedMessages;
  }

  async acknowledge(subscription: string, ackIds: readonly string[]): Promise<void> {
    await call(this.#subscriber, "Acknowledge", { subscription, ackIds });
  }

  async modifyAckDeadline(subscription: string, ackIds: readonly string[], ackDeadlineSeconds: number): Promise<void> {
    await call(this.#subscriber, "ModifyAckDeadline", { subscription, ackIds, ackDeadlineSeconds });
  }

  /** Opens a StreamingPull call; `first` is its first request. */
  stream(first: object): PullStream {
    const stream = (this.#subscriber as unknown as { StreamingPull(): PullStream }).StreamingPull();
    stream.write(first);
    return stream;
  }

  /** Any other method, by name. */
  async publisherCall(method: string, request: object): Promise<unknown> {
    return call(this.#publisher, method, request);
  }

  async subscriberCall(method: string, request: object): Promise<unknown> {
    return call(this.#subscriber, method, request);
  }

  /** Pulls and acks what the subscription has at the moment; may return fewer messages than there are. */
  async take(subscription: string): Promise<ReceivedMessage[]> {
    const received = await this.pull(subscription, 1000, true);
    if (received.length === 0) return [];
    await this.acknowledge(
      subscription,
      received.map((delivery) => delivery.ackId),
    );
    return received.map((delivery) => delivery.message);
  }

  close(): void {
    this.#publisher.close();
    this.#subscriber.close();
  }
}

function client(service: string, address: string): grpc.Client {
  const Client = grpc.makeClientConstructor(serviceDefinition(pubsubProtos(), service), service);
  return new Client(address, grpc.credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
    // A server that starts is found soon after it listens, not when a pause is over that has grown meanwhile.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 500,
  });
}

function call(on: grpc.Client, method: string, request: object): Promise<unknown> {
  const unary = (on as unknown as Record<string, Unary>)[method]!.bind(on);
  return new Promise((resolve, reject) => {
    unary(request, (error, response) => (error ? reject(error) : resolve(response)));
  });
}
