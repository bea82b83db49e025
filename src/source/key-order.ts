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
  /** Of which messages are given back. */
  readonly keysBack: readonly string[];
  /** Nothing of the batch is left to be told. */
  readonly complete: boolean;
}

/** A message, by its place in a batch. */
export interface Place<B> {
  readonly batch: B;
  readonly i: number;
}

/** A message of a key is given back, and with it all that is held of its key behind it, told already or not. */
export interface KeyReturn<B> {
  readonly key: string;
  /** All of them, in order; for each batch of theirs there will be one telling. */
  readonly places: readonly Place<B>[];
  /** When the first of them may be delivered again, on the monotonic clock. */
  readonly backAt: number;
}

/** What follows from the fate of a batch. */
export interface Settled<B> {
  /** To be told in this order. */
  readonly tellings: readonly Telling<B>[];
  readonly returns: readonly KeyReturn<B>[];
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
  readonly keysBack: string[];
}

/** What a settlement has led to so far. */
interface Course<B> {
  readonly now: number;
  readonly drafts: Map<Held<B>, Draft>;
  readonly returns: KeyReturn<B>[];
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
   * @returns what may be told now, of this batch and of those that waited for it
   */
  settle(batch: B, nacks: ReadonlyMap<number, number>, now: number): Settled<B> {
    const held = this.#held.get(batch);
    const course: Course<B> = { now, drafts: new Map(), returns: [] };
    if (!held) return { tellings: [], returns: [] };
    const draft = draftOf(course, held);
    for (const i of held.withoutKey) tell(draft, i, pauseEnd(nacks.get(i), now));
    for (const group of held.groups.values()) {
      group.nacks = nacks;
      this.#advance(group.key, course);
    }
    const inOrder = [...course.drafts].toSorted(([a], [b]) => a.sequence - b.sequence);
    return { tellings: inOrder.map(([of, told]) => this.#telling(of, told)), returns: course.returns };
  }

  /** Tells what stands at the head of a key's queue, as far as fates are known. */
  #advance(key: string, course: Course<B>): void {
    const queue = this.#queueOf(key);
    let done = 0;
    for (const group of queue) {
      if (!group.nacks) break;
      this.#tellGroup(queue, done++, course);
    }
    if (done === queue.length) this.#queues.delete(key);
    else queue.splice(0, done);
  }

  #tellGroup(queue: readonly Group<B>[], at: number, course: Course<B>): void {
    const { held, key, messages, nacks, doomedUntil } = queue[at]!;
    const draft = draftOf(course, held);
    let backAt = doomedUntil;
    const places: Place<B>[] = [];
    for (const i of messages) {
      backAt ??= pauseEnd(nacks!.get(i), course.now);
      tell(draft, i, backAt);
      if (backAt !== undefined && doomedUntil === undefined) places.push({ batch: held.batch, i });
    }
    held.groupsLeft--;
    if (backAt === undefined) return;
    draft.keysBack.push(key);
    if (doomedUntil !== undefined) return;
    for (const behind of queue.slice(at + 1)) places.push(...doom(behind, backAt));
    course.returns.push({ key, places, backAt });
  }

  #telling(held: Held<B>, { acks, backAt, keysBack }: Draft): Telling<B> {
    const complete = held.groupsLeft === 0;
    if (complete) this.#held.delete(held.batch);
    return { batch: held.batch, acks: acks.sort((a, b) => a - b), backAt, keysBack, complete };
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

/** A group goes back with what is before it. Returns its messages. */
function doom<B>(group: Group<B>, until: number): Place<B>[] {
  group.doomedUntil = until;
  return group.messages.map((i) => ({ batch: group.held.batch, i }));
}

function draftOf<B>({ drafts }: Course<B>, held: Held<B>): Draft {
  const known = drafts.get(held);
  if (known) return known;
  const draft: Draft = { acks: [], backAt: new Map(), keysBack: [] };
  drafts.set(held, draft);
  return draft;
}

function tell(draft: Draft, i: number, backAt: number | undefined): void {
  if (backAt === undefined) draft.acks.push(i);
  else draft.backAt.set(i, backAt);
}

function pauseEnd(pauseMs: number | undefined, now: number): number | undefined {
  return pauseMs === undefined ? undefined : now + pauseMs;
}
