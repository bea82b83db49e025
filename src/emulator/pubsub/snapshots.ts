/** All snapshots, by name; each goes when its time has come. */
import type { Clock, Timer } from "../../lib/clock.ts";
import { parseResourceName, resourceExists, resourceNotFound } from "./resource-name.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Topic } from "./topic.ts";

interface Kept {
  readonly snapshot: Snapshot;
  readonly topic: Topic;
  expiry: Timer;
}

export class Snapshots {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get names(): string[] {
    return [...this.#kept.keys()];
  }

  /** @throws RpcError INVALID_ARGUMENT for a bad name, ALREADY_EXISTS */
  checkNew(name: string): void {
    parseResourceName("snapshots", name);
    if (this.#kept.has(name)) throw resourceExists(name);
  }

  /** @param topic whose messages it keeps from now on */
  add(snapshot: Snapshot, topic: Topic): void {
    topic.snapshots.add(snapshot);
    this.#kept.set(snapshot.name, { snapshot, topic, expiry: this.#expiry(snapshot) });
  }

  /** @throws RpcError NOT_FOUND */
  get(name: string): Snapshot {
    return this.#get(name).snapshot;
  }

  /** Also after the topic was deleted. @throws RpcError NOT_FOUND */
  topicOf(name: string): Topic {
    return this.#get(name).topic;
  }

  /** The snapshot's time to go has changed. */
  rescheduled(name: string): void {
    const kept = this.#get(name);
    kept.expiry.cancel();
    kept.expiry = this.#expiry(kept.snapshot);
  }

  /** @throws RpcError NOT_FOUND */
  delete(name: string): void {
    const { snapshot, topic, expiry } = this.#get(name);
    expiry.cancel();
    topic.snapshots.delete(snapshot);
    this.#kept.delete(name);
  }

  clear(): void {
    for (const name of this.names) this.delete(name);
  }

  #get(name: string): Kept {
    const kept = this.#kept.get(name);
    if (!kept) throw resourceNotFound(name);
    return kept;
  }

  #expiry({ name, expireMs }: Snapshot): Timer {
    return this.#clock.setTimer(() => this.delete(name), expireMs - this.#clock.now());
  }
}
