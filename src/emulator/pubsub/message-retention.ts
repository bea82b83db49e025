/** How long a subscription keeps messages (COMMON-01, -02), and the acked ones that it keeps for replay (COMMON-06). */
import type { Clock } from "../../lib/clock.ts";
import { RetainedMessages } from "./retained-messages.ts";
import type { StoredMessage } from "./stored-message.ts";
import type { SubscriptionSettings } from "./subscription-settings.ts";

export class MessageRetention {
  readonly #clock: Clock;
  readonly #settings: () => SubscriptionSettings;
  readonly #topicRetentionMs: () => number;
  readonly #acked = new RetainedMessages(() => this.#keptFromMs);
  /** What was published before this is kept as if it had been published then. */
  #renewedAtMs = -Infinity;

  /**
   * @param settings they may change at any time
   * @param topicRetentionMs how long the topic keeps every message for its subscriptions; 0: it keeps none
   */
  constructor(clock: Clock, settings: () => SubscriptionSettings, topicRetentionMs: () => number) {
    this.#clock = clock;
    this.#settings = settings;
    this.#topicRetentionMs = topicRetentionMs;
  }

  /** Acked messages that are kept, in no particular order. */
  get acked(): readonly StoredMessage[] {
    return this.#acked.all();
  }

  /** Whether a message is to be dropped, whatever became of it. */
  isTooOld({ publication }: StoredMessage): boolean {
    return Math.max(publication.publishTimeMs, this.#renewedAtMs) < this.#keptFromMs;
  }

  /** The subscription is done with a message. */
  keep(message: StoredMessage): void {
    if (this.#settings().retainAcked) this.#acked.add(message);
  }

  /** All messages of before are kept as long as if they were published now. */
  renew(): void {
    this.#renewedAtMs = this.#clock.now();
  }

  /** Keeps no acked message of before. */
  forgetAcked(): void {
    this.#acked.clear();
  }

  get #keptFromMs(): number {
    return this.#clock.now() - Math.max(this.#settings().retentionMs, this.#topicRetentionMs());
  }
}
