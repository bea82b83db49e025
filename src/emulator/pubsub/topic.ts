/** A topic: hands what is published on to its subscriptions, and keeps nothing. */
import type { StoredMessage } from "./stored-message.ts";
import type { Subscription } from "./subscription.ts";

/** What a subscription's topic is called after the topic was deleted. */
export const deletedTopic = "_deleted-topic_";

export class Topic {
  readonly name: string;
  labels: Readonly<Record<string, string>>;
  readonly subscriptions = new Set<Subscription>();
  #published = 0;

  constructor(name: string, labels: Readonly<Record<string, string>>) {
    this.name = name;
    this.labels = labels;
  }

  /** Number of messages published so far. */
  get published(): number {
    return this.#published;
  }

  publish(messages: readonly StoredMessage[]): void {
    this.#published += messages.length;
    for (const subscription of this.subscriptions) subscription.accept(messages);
  }
}
