import { Broker, type PartialSubscription } from "../../src/emulator/pubsub/broker.ts";
import { encodeContent } from "../../src/emulator/pubsub/message-content.ts";
import { decodeMessage, type PubsubMessage } from "../../src/emulator/pubsub/stored-message.ts";
import type { Subscription } from "../../src/emulator/pubsub/subscription.ts";
import { subscriptionResource } from "../../src/emulator/pubsub/subscription-resource.ts";
import { VirtualClock } from "./virtual-clock.ts";

const topic = "projects/test/topics/orders";

/** A broker on a virtual clock with one topic and one subscription, reached without gRPC. */
export class TestBroker {
  readonly clock = new VirtualClock();
  readonly broker = new Broker(this.clock);
  readonly subscription: Subscription;

  constructor(options: Omit<Partial<PartialSubscription>, "name" | "topic"> = {}) {
    this.broker.createTopic(topic);
    this.broker.createTopic("projects/test/topics/dead");
    this.subscription = this.subscribe("projects/test/subscriptions/orders", topic, options);
  }

  subscribe(name: string, to: string, options: object = {}): Subscription {
    return this.broker.createSubscription(subscriptionResource({ name, topic: to, ...options }));
  }

  /** Publishes texts, each as `text` or as `key:text`, in one request. */
  publish(...texts: string[]): void {
    const contents = texts.map((text) => {
      const [key, rest] = text.split(":");
      return encodeContent(rest === undefined ? { data: text } : { data: rest, orderingKey: key! });
    });
    this.broker.publish(topic, contents);
  }

  /** Publishes a text with attributes. */
  publishWith(attributes: Readonly<Record<string, string>>, text: string): void {
    this.broker.publish(topic, [encodeContent({ data: text, attributes })]);
  }
}

/** What a subscription still has, as texts in order of publication. */
export function unackedTexts(subscription: Subscription): string[] {
  return unacked(subscription).map(({ data }) => data.toString());
}

export function unacked(subscription: Subscription): PubsubMessage[] {
  return [...subscription.unacked()].map(decodeMessage).toSorted((a, b) => Number(a.messageId) - Number(b.messageId));
}
