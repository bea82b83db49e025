/** Messages with an unknown field that wait for a look at the table: a column may have been added for them. */
import type { Refusal } from "../errors.ts";
import type { Delivery } from "./delivery.ts";
import type { KeyLane } from "./key-lane.ts";

/** Messages of one delivery, each with the refusal that is not yet final. */
export interface Held {
  readonly delivery: Delivery;
  /** Message → why it is no row. */
  readonly refusals: ReadonlyMap<number, Refusal>;
  /** Their ordering key; one message only when there is one. */
  readonly lane: KeyLane | undefined;
}

export interface HeldMessagesOptions {
  /** Has the table looked at; resolves when that is done. Never rejects. */
  readonly refresh: () => Promise<void>;
  /** The table was looked at because of these messages. */
  readonly lookedAt: (held: Held) => void;
}

export class HeldMessages {
  readonly #options: HeldMessagesOptions;
  readonly #held = new Set<Held>();

  constructor(options: HeldMessagesOptions) {
    this.#options = options;
  }

  async hold(delivery: Delivery, refusals: Map<number, Refusal>, lane: KeyLane | undefined): Promise<void> {
    const held = { delivery, refusals, lane };
    this.#held.add(held);
    for (const message of refusals.keys()) {
      lane?.hold({ delivery, message, giveUp: () => this.#held.delete(held) });
    }
    await this.#options.refresh();
    if (this.#held.delete(held)) this.#options.lookedAt(held);
  }

  /** Gives back the messages of some deliveries. Those with an ordering key are given back by their lanes. */
  abandon(given: (delivery: Delivery) => boolean): void {
    for (const held of this.#held) {
      if (held.lane || !given(held.delivery)) continue;
      this.#held.delete(held);
      for (const message of held.refusals.keys()) held.delivery.abandon(message);
    }
  }
}
