/** All topics and subscriptions, by name. The services and the handles for tests both work on it. */
import type { Clock } from "../../lib/clock.ts";
import { pubsubProtos } from "../../lib/protos.ts";
import { RpcError } from "../rpc-error.ts";
import { AckIds } from "./ack-ids.ts";
import { deadLetterContent } from "./dead-letter-policy.ts";
import type { MessageContent } from "./message-content.ts";
import { parseResourceName, resourceNotFound } from "./resource-name.ts";
import { messageId, storeMessages, type StoredMessage } from "./stored-message.ts";
import { Subscription } from "./subscription.ts";
import {
  applyMask,
  readSettings,
  toResource,
  type SubscriptionResource,
  type SubscriptionSettings,
} from "./subscription-settings.ts";
import { deletedTopic, Topic } from "./topic.ts";

/** Fields of a subscription as a test writes them; absent ones have their defaults. */
export type PartialSubscription = Pick<SubscriptionResource, "name" | "topic"> & Partial<SubscriptionResource>;

export class Broker {
  readonly clock: Clock;
  readonly topics = new Map<string, Topic>();
  readonly subscriptions = new Map<string, Subscription>();
  #lastId: number;

  constructor(clock: Clock) {
    this.clock = clock;
    // Begun with the time, so that ids of an earlier server of the same tests do not come again.
    this.#lastId = Math.floor(clock.now()) * 1000;
  }

  createTopic(name: string, labels: Readonly<Record<string, string>> = {}): Topic {
    parseResourceName("topics", name);
    if (this.topics.has(name)) throw exists(name);
    const topic = new Topic(name, labels);
    this.topics.set(name, topic);
    return topic;
  }

  /** @throws RpcError NOT_FOUND */
  topic(name: string): Topic {
    const topic = this.topics.get(name);
    if (!topic) throw resourceNotFound(name);
    return topic;
  }

  /** Its subscriptions stay, with what they have. */
  deleteTopic(name: string): void {
    const topic = this.topic(name);
    this.topics.delete(name);
    for (const subscription of topic.subscriptions) {
      subscription.settings = { ...subscription.settings, topic: deletedTopic };
    }
  }

  /** Publishes and returns the ids. */
  publish(name: string, contents: readonly MessageContent[]): string[] {
    return this.#publishTo(this.topic(name), contents).map(messageId);
  }

  createSubscription(resource: SubscriptionResource): Subscription {
    const settings = readSettings(resource);
    const topic = this.topic(settings.topic);
    this.#checkDeadLetterTopic(settings);
    if (this.subscriptions.has(settings.name)) throw exists(settings.name);
    const subscription = new Subscription(settings, {
      clock: this.clock,
      ackIds: new AckIds(String(this.#takeIds(1))),
      forward: this.#forward,
      onExpired: () => this.deleteSubscription(settings.name),
    });
    this.subscriptions.set(settings.name, subscription);
    topic.subscriptions.add(subscription);
    return subscription;
  }

  /** @throws RpcError NOT_FOUND */
  subscription(name: string): Subscription {
    const subscription = this.subscriptions.get(name);
    if (!subscription) throw resourceNotFound(name);
    return subscription;
  }

  updateSubscription(changes: SubscriptionResource, paths: readonly string[]): Subscription {
    const subscription = this.subscription(changes.name);
    const resource = subscriptionResource(toResource(subscription.settings));
    const settings = readSettings(applyMask(resource, changes, paths));
    this.#checkDeadLetterTopic(settings);
    subscription.settings = settings;
    return subscription;
  }

  deleteSubscription(name: string): void {
    const subscription = this.subscription(name);
    this.subscriptions.delete(name);
    this.topics.get(subscription.settings.topic)?.subscriptions.delete(subscription);
    subscription.delete();
  }

  /** Deletes everything. */
  clear(): void {
    for (const name of this.subscriptions.keys()) this.deleteSubscription(name);
    this.topics.clear();
  }

  #checkDeadLetterTopic({ deadLetter }: SubscriptionSettings): void {
    if (deadLetter) this.topic(deadLetter.topic);
  }

  #publishTo(topic: Topic, contents: readonly MessageContent[]): StoredMessage[] {
    const messages = storeMessages(contents, this.#takeIds(contents.length), this.clock.now());
    topic.publish(messages);
    return messages;
  }

  /** The first of so many consecutive numbers. */
  #takeIds(count: number): number {
    const first = this.#lastId + 1;
    this.#lastId += count;
    return first;
  }

  readonly #forward = (message: StoredMessage, attempts: number, settings: SubscriptionSettings): boolean => {
    const topic = settings.deadLetter && this.topics.get(settings.deadLetter.topic);
    if (!topic) return false;
    this.#publishTo(topic, [deadLetterContent(message, attempts, settings.name)]);
    return true;
  };
}

/** A resource with all fields, from one with some. */
export function subscriptionResource(partial: object): SubscriptionResource {
  const type = pubsubProtos().lookupType("google.pubsub.v1.Subscription");
  return type.toObject(type.fromObject(partial), {
    longs: String,
    enums: String,
    defaults: true,
    arrays: true,
  }) as SubscriptionResource;
}

function exists(name: string): RpcError {
  return new RpcError("ALREADY_EXISTS", `Resource already exists (resource=${name})`);
}
