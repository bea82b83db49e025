/** All topics, subscriptions and snapshots, by name. The services and the handles for tests both work on it. */
import type { Clock } from "../../lib/clock.ts";
import { invalidArgument, RpcError } from "../rpc-error.ts";
import { AckIds } from "./ack-ids.ts";
import { deadLetterContent } from "./dead-letter-policy.ts";
import type { Labels } from "./labels.ts";
import type { MessageContent } from "./message-content.ts";
import { generatedName, parseResourceName, resourceExists, resourceNotFound } from "./resource-name.ts";
import { Snapshot, type SnapshotResource } from "./snapshot.ts";
import { Snapshots } from "./snapshots.ts";
import { inOrder, messageId, storeMessages, type StoredMessage } from "./stored-message.ts";
import { Subscription } from "./subscription.ts";
import { applyMask, subscriptionResource, toResource, type SubscriptionResource } from "./subscription-resource.ts";
import { readSettings, type SubscriptionSettings } from "./subscription-settings.ts";
import { plainTopic, type TopicSettings } from "./topic-resource.ts";
import { deletedTopic, Topic } from "./topic.ts";

/** Fields of a subscription as a test writes them; absent ones have their defaults. */
export type PartialSubscription = Pick<SubscriptionResource, "name" | "topic"> & Partial<SubscriptionResource>;

export class Broker {
  readonly clock: Clock;
  readonly topics = new Map<string, Topic>();
  readonly subscriptions = new Map<string, Subscription>();
  readonly snapshots: Snapshots;
  #lastId: number;

  constructor(clock: Clock) {
    this.clock = clock;
    this.snapshots = new Snapshots(clock);
    // Begun with the time, so that ids of an earlier server of the same tests do not come again.
    this.#lastId = Math.floor(clock.now()) * 1000;
  }

  createTopic(name: string, settings: TopicSettings = plainTopic): Topic {
    parseResourceName("topics", name);
    if (this.topics.has(name)) throw resourceExists(name);
    const topic = new Topic(name, settings, this.clock);
    this.topics.set(name, topic);
    return topic;
  }

  /** @throws RpcError NOT_FOUND */
  topic(name: string): Topic {
    const topic = this.topics.get(name);
    if (!topic) throw resourceNotFound(name);
    return topic;
  }

  /** Its subscriptions and snapshots stay, with what they have. */
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

  /** Without a name it gets one, in the topic's project. */
  createSubscription(resource: SubscriptionResource): Subscription {
    const { project } = parseResourceName("topics", resource.topic);
    const name = resource.name || generatedName(project, "subscriptions");
    const settings = readSettings({ ...resource, name });
    const topic = this.topic(settings.topic);
    this.#checkDeadLetterTopic(settings);
    if (this.subscriptions.has(name)) throw resourceExists(name);
    const subscription = new Subscription(settings, {
      clock: this.clock,
      ackIds: new AckIds(String(this.#takeIds(1))),
      forward: this.#forward,
      topicRetentionMs: () => this.#topicRetentionMs(subscription),
      onExpired: () => this.deleteSubscription(name),
    });
    this.subscriptions.set(name, subscription);
    topic.subscriptions.add(subscription);
    return subscription;
  }

  /** @throws RpcError NOT_FOUND */
  subscription(name: string): Subscription {
    const subscription = this.subscriptions.get(name);
    if (!subscription) throw resourceNotFound(name);
    return subscription;
  }

  /** One that messages can be had of. @throws RpcError NOT_FOUND, or FAILED_PRECONDITION when it was detached */
  attachedSubscription(name: string): Subscription {
    const subscription = this.subscription(name);
    if (subscription.detached) throw detached(name);
    return subscription;
  }

  resourceOf(subscription: Subscription): object {
    const topicRetentionMs = this.#topicRetentionMs(subscription);
    return toResource(subscription.settings, { detached: subscription.detached, topicRetentionMs });
  }

  updateSubscription(changes: SubscriptionResource, paths: readonly string[]): Subscription {
    const subscription = this.subscription(changes.name);
    const settings = readSettings(applyMask(subscriptionResource(this.resourceOf(subscription)), changes, paths));
    this.#checkDeadLetterTopic(settings);
    subscription.settings = settings;
    return subscription;
  }

  deleteSubscription(name: string): void {
    const subscription = this.subscription(name);
    this.subscriptions.delete(name);
    this.topics.get(subscription.settings.topic)?.subscriptions.delete(subscription);
    subscription.delete(resourceNotFound(name));
  }

  /** Cuts a subscription off from its topic; what it had is dropped. */
  detachSubscription(name: string): void {
    const subscription = this.subscription(name);
    this.topics.get(subscription.settings.topic)?.subscriptions.delete(subscription);
    subscription.cutOff(detached(name));
  }

  /** Without a name it gets one, in the subscription's project. */
  createSnapshot(request: { readonly name: string; readonly subscription: string; readonly labels: Labels }): Snapshot {
    const { project } = parseResourceName("subscriptions", request.subscription);
    const name = request.name || generatedName(project, "snapshots");
    this.snapshots.checkNew(name);
    const subscription = this.attachedSubscription(request.subscription);
    const topic = this.topic(subscription.settings.topic);
    const unacked = [...subscription.unacked()].toSorted(inOrder);
    const snapshot = new Snapshot(name, request.labels, unacked, this.clock.now());
    this.snapshots.add(snapshot, topic);
    return snapshot;
  }

  updateSnapshot(changes: SnapshotResource, paths: readonly string[]): Snapshot {
    const snapshot = this.snapshots.get(changes.name);
    snapshot.update(changes, paths, this.clock.now());
    this.snapshots.rescheduled(snapshot.name);
    return snapshot;
  }

  snapshotResource(snapshot: Snapshot): SnapshotResource {
    const topic = this.snapshots.topicOf(snapshot.name);
    return snapshot.toResource(this.topics.get(topic.name) === topic ? topic.name : deletedTopic);
  }

  /** What was published from that time on is not acked, and everything before it is. */
  seekToTime(name: string, timeMs: number): void {
    const subscription = this.attachedSubscription(name);
    const ofTopic = this.topics.get(subscription.settings.topic)?.retained ?? [];
    const known = [...subscription.unacked(), ...subscription.retained, ...ofTopic];
    subscription.replay(
      known.filter(({ publication }) => publication.publishTimeMs >= timeMs),
      false,
    );
  }

  /** What the snapshot has is not acked, and everything else is. */
  seekToSnapshot(name: string, snapshotName: string): void {
    const subscription = this.attachedSubscription(name);
    if (!this.snapshots.topicOf(snapshotName).subscriptions.has(subscription)) {
      throw invalidArgument("The snapshot is of another topic than the subscription");
    }
    subscription.replay(this.snapshots.get(snapshotName).messages, true);
  }

  /** Deletes everything. */
  clear(): void {
    for (const name of this.subscriptions.keys()) this.deleteSubscription(name);
    this.snapshots.clear();
    this.topics.clear();
  }

  #topicRetentionMs({ settings }: Subscription): number {
    return this.topics.get(settings.topic)?.settings.retentionMs ?? 0;
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

function detached(name: string): RpcError {
  return new RpcError("FAILED_PRECONDITION", `The subscription is detached from its topic (resource=${name})`);
}
