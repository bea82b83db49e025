/** One unary Pull: takes what there is, or waits for the first messages. */
import type { Clock } from "../../lib/clock.ts";
import type { RpcError } from "../rpc-error.ts";
import { Holder, type Delivery } from "./delivery.ts";
import type { Consumer } from "./consumers.ts";
import type { Subscription } from "./subscription.ts";

/** A pull that finds nothing for this long answers without messages. */
const maxWaitMs = 10_000;

export class WaitingPull implements Consumer {
  readonly holder: Holder;
  readonly #subscription: Subscription;
  readonly #settle: { resolve(deliveries: readonly Delivery[]): void; reject(error: Error): void };
  /** What the pull comes to: the messages, possibly none. Rejects when the subscription ends before. */
  readonly messages: Promise<readonly Delivery[]>;
  #done = false;

  constructor(subscription: Subscription, maxMessages: number) {
    this.holder = new Holder(subscription.settings.ackDeadlineMs, maxMessages);
    this.#subscription = subscription;
    const { promise, resolve, reject } = Promise.withResolvers<readonly Delivery[]>();
    this.messages = promise;
    this.#settle = { resolve, reject };
  }

  get ready(): boolean {
    return !this.#done;
  }

  /** Takes part in the distribution until there is something, or the time is up. */
  begin(clock: Clock, returnImmediately: boolean): void {
    this.#subscription.attach(this);
    if (returnImmediately) this.end();
    if (this.#done) return;
    const timer = clock.setTimer(() => this.end(), maxWaitMs);
    this.messages.then(
      () => timer.cancel(),
      () => timer.cancel(),
    );
  }

  deliver(deliveries: readonly Delivery[]): void {
    this.#leave();
    this.#settle.resolve(deliveries);
  }

  subscriptionEnded(reason: RpcError): void {
    this.#leave();
    this.#settle.reject(reason);
  }

  /** Comes to nothing, unless it came to something before. */
  end(): void {
    if (!this.#done) this.deliver([]);
  }

  #leave(): void {
    this.#done = true;
    this.#subscription.detach(this);
  }
}
