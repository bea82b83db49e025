/**
 * In which order the messages of an ordering key are acked and given back (ORDER-02): an ack waits for all that is held of
 * its key before it, and what is held of a key behind a message that is given back is given back too. Pure.
 */

/** What the order needs to know of a batch. */
export interface KeyedBatch {
  readonly length: number;
  /** Empty when the message has none. */
  orderingKey(i: number): string;
}

/** What may be told to the service now of a batch. */
export interface Telling<B> {
  readonly batch: B;
  readonly acks: readonly number[];
  /** Message index → when it may be delivered again, on the monotonic clock. */
  readonly backAt: ReadonlyMap<number, number>;
  /** Nothing of the batch is left to be told. */
  readonly complete: boolean;
}

interface Held<B> {
  readonly batch: B;
  readonly sequence: number;
  /** By key. */
  readonly groups: Map<string, Group<B>>;
  readonly withoutKey: number[];
  groupsLeft: number;
}

/** The messages of one key in one batch. */
interface Group<B> {
  readonly held: Held<B>;
  readonly key: string;
  readonly messages: number[];
  /** Message index → pause in milliseconds, for those that are given back; undefined while its fate is not known. */
  nacks: ReadonlyMap<number, number> | undefined;
  /** Something before it was given back: so is the whole group, until then. */
  doomedUntil: number | undefined;
}

interface Draft {
  readonly acks: number[];
  readonly backAt: Map<number, number>;
}

export class KeyOrder<B extends KeyedBatch> {
  readonly #held = new Map<B, Held<B>>();
  /** What is held of each key, as it came. */
  readonly #queues = new Map<string, Group<B>[]>();
  #sequence = 0;

  /** A batch has come. */
  add(batch: B): void {
    const held: Held<B> = { batch, sequence: this.#sequence++, groups: new Map(), withoutKey: [], groupsLeft: 0 };
    for (let i = 0; i < batch.length; i++) {
      const key = batch.orderingKey(i);
      if (key === "") held.withoutKey.push(i);
      else this.#groupOf(held, key).messages.push(i);
    }
    held.groupsLeft = held.groups.size;
    this.#held.set(batch, held);
  }

  /**
   * The fate of a batch is known.
   *
   * @param nacks message index → pause in milliseconds
   * @returns what may be told now, of this batch and of those that waited for it, to be told in this order
   */
  settle(batch: B, nacks: ReadonlyMap<number, number>, now: number): Telling<B>[] {
    const held = this.#held.get(batch);
    if (!held) return [];
    const drafts = new Map<Held<B>, Draft>([[held, { acks: [], backAt: new Map() }]]);
    for (const i of held.withoutKey) tell(drafts.get(held)!, i, pauseEnd(nacks.get(i), now));
    for (const group of held.groups.values()) {
      group.nacks = nacks;
      this.#advance(group.key, drafts, now);
    }
    return [...drafts].toSorted(([a], [b]) => a.sequence - b.sequence).map(([of, draft]) => this.#telling(of, draft));
  }

  /** Tells what stands at the head of a key's queue, as far as fates are known. */
  #advance(key: string, drafts: Map<Held<B>, Draft>, now: number): void {
    const queue = this.#queueOf(key);
    let done = 0;
    for (const group of queue) {
      if (!group.nacks) break;
      done++;
      this.#tellGroup(group, queue, drafts, now);
    }
    if (done === queue.length) this.#queues.delete(key);
    else queue.splice(0, done);
  }

  #tellGroup(group: Group<B>, queue: readonly Group<B>[], drafts: Map<Held<B>, Draft>, now: number): void {
    const draft = drafts.get(group.held) ?? { acks: [], backAt: new Map<number, number>() };
    drafts.set(group.held, draft);
    let until = group.doomedUntil;
    for (const i of group.messages) {
      until ??= pauseEnd(group.nacks!.get(i), now);
      tell(draft, i, until);
    }
    if (until !== undefined && group.doomedUntil === undefined) {
      for (const later of queue.slice(queue.indexOf(group) + 1)) later.doomedUntil ??= until;
    }
    group.held.groupsLeft--;
  }

  #telling(held: Held<B>, { acks, backAt }: Draft): Telling<B> {
    const complete = held.groupsLeft === 0;
    if (complete) this.#held.delete(held.batch);
    return { batch: held.batch, acks: acks.sort((a, b) => a - b), backAt, complete };
  }

  /** The group of a key in a batch that has just come. */
  #groupOf(held: Held<B>, key: string): Group<B> {
    const known = held.groups.get(key);
    if (known) return known;
    const group: Group<B> = { held, key, messages: [], nacks: undefined, doomedUntil: undefined };
    held.groups.set(key, group);
    this.#queueOf(key).push(group);
    return group;
  }

  #queueOf(key: string): Group<B>[] {
    const known = this.#queues.get(key);
    if (known) return known;
    const queue: Group<B>[] = [];
    this.#queues.set(key, queue);
    return queue;
  }
}

function tell(draft: Draft, i: number, backAt: number | undefined): void {
  if (backAt === undefined) draft.acks.push(i);
  else draft.backAt.set(i, backAt);
}

function pauseEnd(pauseMs: number | undefined, now: number): number | undefined {
  return pauseMs === undefined ? undefined : now + pauseMs;
}
