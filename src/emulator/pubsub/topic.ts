/** A topic: hands what is published on to its subscriptions and snapshots, and keeps what its retention says. */
import type { Clock } from "../../lib/clock.ts";
import { RetainedMessages } from "./retained-messages.ts";
import type { Snapshot } from "./snapshot.ts";
import type { StoredMessage } from "./stored-message.ts";
import type { Subscription } from "./subscription.ts";
import type { TopicSettings } from "./topic-resource.ts";

/** What a subscription's topic is called after the topic was deleted. */
export const deletedTopic = "_deleted-topic_";

export class Topic {
  readonly name: string;
  readonly subscriptions = new Set<Subscription>();
  /** They keep what is published from now on. */
  readonly snapshots = new Set<Snapshot>();
  #settings: TopicSettings;
  readonly #retained: RetainedMessages;
  #published = 0;

  constructor(name: string, settings: TopicSettings, clock: Clock) {
    this.name = name;
    this.#settings = settings;
    this.#retained = new RetainedMessages(() => clock.now() - this.#settings.retentionMs);
  }

  get settings(): TopicSettings {
    return this.#settings;
  }

  set settings(settings: TopicSettings) {
    this.#settings = settings;
    if (settings.retentionMs === 0) this.#retained.clear();
  }

  /** Number of messages published so far. */
  get published(): number {
    return this.#published;
  }

  /** What it keeps of what was published, in order of publication. */
  get retained(): readonly StoredMessage[] {
    return this.#retained.all();
  }

  publish(messages: readonly StoredMessage[]): void {
    this.#published += messages.length;
    if (this.#settings.retentionMs > 0) for (const message of messages) this.#retained.add(message);
    for (const snapshot of this.snapshots) snapshot.keep(messages);
    for (const subscription of this.subscriptions) subscription.accept(messages);
  }
}
