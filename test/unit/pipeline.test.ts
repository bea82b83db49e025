import { describe, expect, test } from "vitest";
import type { Breaker } from "../../src/breaker/breaker.ts";
import type { DeadLetter, DeadLetterQueue, PublishResult } from "../../src/dead-letter/dead-letter.ts";
import type { Destination } from "../../src/destination.ts";
import type { Refusal } from "../../src/errors.ts";
import { type Fates, type MessageBatch, type Outcome, Outcomes, type PipelineState } from "../../src/message.ts";
import { Pipeline, type PipelineObserver } from "../../src/pipeline.ts";
import type { Source } from "../../src/source/source.ts";
import { VirtualClock } from "../support/virtual-clock.ts";

/**
 * The story of a pipeline, told by fakes: everything they are asked to do stands in one ordered list of actions.
 * What the fakes decide is scripted per test.
 */
class Story {
  readonly actions: string[] = [];
  readonly clock = new VirtualClock();
  readonly source: FakeSource;
  readonly destination: FakeDestination;
  readonly deadLetters: FakeDeadLetters;
  breaker: Breaker | undefined;
  readonly observer: PipelineObserver = {
    deadLettered: (letters) => this.actions.push(`count ${letters} letters`),
    letterFailed: (why) => this.actions.push(`count a letter ${why}`),
    givenBack: (messages) => this.actions.push(`count ${messages} given back`),
  };

  constructor(batches: readonly MessageBatch[] = []) {
    this.source = new FakeSource(this.actions, batches);
    this.destination = new FakeDestination(this.actions);
    this.deadLetters = new FakeDeadLetters(this.actions);
  }

  pipeline(withDeadLetters = true): Pipeline {
    const { source, destination, observer, clock } = this;
    return new Pipeline({
      source,
      destination,
      observer,
      clock,
      deadLetters: withDeadLetters ? this.deadLetters : undefined,
      breaker: this.breaker,
    });
  }
}

class FakeSource implements Source {
  state: PipelineState = "ACTIVE";
  stateReason = "";
  readonly #actions: string[];
  readonly #batches: readonly MessageBatch[];

  constructor(actions: string[], batches: readonly MessageBatch[]) {
    this.#actions = actions;
    this.#batches = batches;
  }

  async open(): Promise<void> {
    this.#actions.push("open source");
  }

  async *batches(signal: AbortSignal): AsyncIterable<MessageBatch> {
    for (const batch of this.#batches) {
      this.#actions.push(`pull ${idOf(batch)}`);
      yield batch;
    }
    await aborted(signal);
    this.#actions.push("stop pulling");
  }

  async settle(batch: MessageBatch, fates: Fates): Promise<void> {
    const nacks = [...fates.nacks].map(([i, afterMs]) => `, nack ${i} for ${afterMs} ms`).join("");
    this.#actions.push(`settle ${idOf(batch)}: ack ${batch.length - fates.nacks.size}${nacks}`);
  }

  async close(): Promise<void> {
    this.#actions.push("close source");
  }
}

class FakeDestination implements Destination {
  state: PipelineState = "ACTIVE";
  stateReason = "";
  /** What becomes of the messages of a batch that are not durable. */
  outcomes: (batch: MessageBatch, signal: AbortSignal) => Promise<ReadonlyMap<number, Outcome>> = async () => new Map();
  opened: Promise<void> = Promise.resolve();
  drained: Promise<void> = Promise.resolve();
  readonly #actions: string[];

  constructor(actions: string[]) {
    this.#actions = actions;
  }

  async open(signal: AbortSignal): Promise<void> {
    await Promise.race([this.opened, aborted(signal)]);
    this.#actions.push("open destination");
  }

  async deliver(batch: MessageBatch, signal: AbortSignal): Promise<Outcomes> {
    this.#actions.push(`deliver ${idOf(batch)}`);
    const outcomes = new Outcomes(batch.length);
    for (const [i, outcome] of await this.outcomes(batch, signal)) outcomes.set(i, outcome);
    this.#actions.push(`delivered ${idOf(batch)}`);
    return outcomes;
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#actions.push(`drain destination by ${deadlineMs}`);
    await this.drained;
  }

  async close(): Promise<void> {
    this.#actions.push("close destination");
  }
}

class FakeDeadLetters implements DeadLetterQueue {
  state: PipelineState = "ACTIVE";
  stateReason = "";
  result: (letter: DeadLetter) => PublishResult = () => ({ ok: true });
  opened: Promise<void> = Promise.resolve();
  confirmed: Promise<void> = Promise.resolve();
  readonly #actions: string[];

  constructor(actions: string[]) {
    this.#actions = actions;
  }

  async open(signal: AbortSignal): Promise<void> {
    await Promise.race([this.opened, aborted(signal)]);
  }

  async publish(letters: readonly DeadLetter[]): Promise<readonly PublishResult[]> {
    const named = letters
      .map(({ batch, message, refusal }) => `${batch.messageId(message)} ${refusal.code}`)
      .join(", ");
    this.#actions.push(`publish ${named}`);
    await this.confirmed;
    this.#actions.push("published");
    return letters.map((letter) => this.result(letter));
  }

  drain(): void {
    this.#actions.push("drain dead letters");
  }

  async close(): Promise<void> {
    this.#actions.push("close dead letters");
  }
}

/** A batch of messages with the ids `NAME-0`, `NAME-1`, … */
function batchOf(name: string, length: number): MessageBatch {
  return {
    length,
    bytes: Buffer.alloc(0),
    byteLength: 0,
    dataStart: () => 0,
    dataEnd: () => 0,
    messageId: (i) => `${name}-${i}`,
    publishTimeMicros: () => 0n,
    attributes: () => new Map(),
    hasOrderingKeys: false,
    orderingKey: () => "",
    deliveryAttempt: () => 0,
  };
}

function idOf(batch: MessageBatch): string {
  return batch.messageId(0).replace(/-0$/, "");
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function refused(code: Refusal["code"]): Outcome {
  return { kind: "refused", refusal: { code, path: "", message: "", stage: "transcode" } };
}

/** The actions of a pipeline that runs until nothing moves any more, without those of its start. */
async function actionsOf(story: Story, pipeline: Pipeline): Promise<string[]> {
  void pipeline.run();
  await story.clock.advance(0);
  return story.actions.slice(2);
}

describe("the way of a batch", () => {
  test("pull, deliver, settle: acked after it is durable, and nothing is published", async () => {
    const story = new Story([batchOf("a", 3)]);
    expect(await actionsOf(story, story.pipeline())).toEqual(["pull a", "deliver a", "delivered a", "settle a: ack 3"]);
  });

  test("a refused message is acked only after its letter is published", async () => {
    const story = new Story([batchOf("a", 3)]);
    const confirmation = Promise.withResolvers<void>();
    story.deadLetters.confirmed = confirmation.promise;
    story.destination.outcomes = async () => new Map([[1, refused("OUT_OF_RANGE")]]);
    const before = await actionsOf(story, story.pipeline());
    expect(before).toEqual(["pull a", "deliver a", "delivered a", "publish a-1 OUT_OF_RANGE"]);

    confirmation.resolve();
    await story.clock.advance(0);
    expect(story.actions.slice(2 + before.length)).toEqual(["published", "count 1 letters", "settle a: ack 3"]);
  });

  test("letters count one by one: only the message whose letter failed is given back", async () => {
    const story = new Story([batchOf("a", 4)]);
    story.destination.outcomes = async () =>
      new Map([
        [3, refused("UNKNOWN_FIELD")],
        [0, refused("OUT_OF_RANGE")],
      ]);
    story.deadLetters.result = ({ message }) =>
      message === 3 ? { ok: false, why: "refused", reason: "too large" } : { ok: true };
    expect((await actionsOf(story, story.pipeline())).slice(3)).toEqual([
      "publish a-0 OUT_OF_RANGE, a-3 UNKNOWN_FIELD",
      "published",
      "count 1 letters",
      "count a letter refused",
      "count 1 given back",
      "settle a: ack 3, nack 3 for 10000 ms",
    ]);
  });

  test("skipped messages are acked, abandoned ones given back at once", async () => {
    const story = new Story([batchOf("a", 3)]);
    story.destination.outcomes = async () =>
      new Map<number, Outcome>([
        [0, { kind: "skipped" }],
        [2, { kind: "abandoned" }],
      ]);
    expect((await actionsOf(story, story.pipeline())).slice(3)).toEqual([
      "count 1 given back",
      "settle a: ack 2, nack 2 for 0 ms",
    ]);
  });

  test("without a dead-letter topic a refused message is given back, for longer each time it comes", async () => {
    const bad = batchOf("a", 1);
    const story = new Story([bad, bad, bad]);
    story.destination.outcomes = async () => new Map([[0, refused("MALFORMED_PAYLOAD")]]);
    const actions = await actionsOf(story, story.pipeline(false));
    expect(actions.filter((action) => action.startsWith("settle"))).toEqual([
      "settle a: ack 0, nack 0 for 10000 ms",
      "settle a: ack 0, nack 0 for 20000 ms",
      "settle a: ack 0, nack 0 for 40000 ms",
    ]);
  });

  test("several batches are under way: a slow one keeps none behind it", async () => {
    const story = new Story([batchOf("slow", 1), batchOf("fast", 1)]);
    const slow = Promise.withResolvers<ReadonlyMap<number, Outcome>>();
    story.destination.outcomes = (batch) => (idOf(batch) === "slow" ? slow.promise : Promise.resolve(new Map()));
    expect(await actionsOf(story, story.pipeline())).toEqual([
      "pull slow",
      "deliver slow",
      "pull fast",
      "deliver fast",
      "delivered fast",
      "settle fast: ack 1",
    ]);
    slow.resolve(new Map());
    await story.clock.advance(0);
    expect(story.actions.slice(-2)).toEqual(["delivered slow", "settle slow: ack 1"]);
  });
});

describe("a breaker", () => {
  test("that trips over a batch has its refused messages given back, not dead-lettered, and nothing more taken", async () => {
    const story = new Story([batchOf("a", 2), batchOf("b", 1)]);
    const released = Promise.withResolvers<void>();
    const breaker = {
      state: "ACTIVE" as PipelineState,
      stateReason: "",
      taken: (messages: number) => {
        story.actions.push(`took ${messages}`);
        return released.promise;
      },
      judge: (outcomes: Outcomes) => {
        story.actions.push(`judge ${outcomes.length}`);
        Object.assign(breaker, { state: "TRIPPED", stateReason: "too many" });
      },
    };
    story.breaker = breaker;
    story.destination.outcomes = async () => new Map([[1, refused("OUT_OF_RANGE")]]);
    const pipeline = story.pipeline();
    expect(await actionsOf(story, pipeline)).toEqual([
      "pull a",
      "deliver a",
      "took 2",
      "delivered a",
      "judge 2",
      "count 1 given back",
      "settle a: ack 1, nack 1 for 10000 ms",
    ]);
    expect([pipeline.state, pipeline.stateReason]).toEqual(["TRIPPED", "too many"]);
    released.resolve();
    await story.clock.advance(0);
    expect(story.actions).toContain("pull b");
  });

  test("that has tripped leaves letters to messages with an ordering key: what follows them may be in the table already", async () => {
    const story = new Story([{ ...batchOf("a", 4), hasOrderingKeys: true, orderingKey: (i) => (i < 2 ? "k" : "") }]);
    story.breaker = {
      state: "TRIPPED",
      stateReason: "",
      taken: () => new Promise(() => undefined),
      judge: () => undefined,
    };
    story.destination.outcomes = async () =>
      new Map([
        [1, refused("ROW_REJECTED")],
        [3, refused("OUT_OF_RANGE")],
        [0, refused("OUT_OF_RANGE")],
      ]);
    expect((await actionsOf(story, story.pipeline())).slice(3)).toEqual([
      "publish a-0 OUT_OF_RANGE, a-1 ROW_REJECTED",
      "published",
      "count 2 letters",
      "count 1 given back",
      "settle a: ack 3, nack 3 for 10000 ms",
    ]);
  });
});

describe("start", () => {
  test("nothing is pulled before the destination is open", async () => {
    const story = new Story([batchOf("a", 1)]);
    const opened = Promise.withResolvers<void>();
    story.destination.opened = opened.promise;
    void story.pipeline().run();
    await story.clock.advance(60_000);
    expect(story.actions).toEqual([]);
    opened.resolve();
    await story.clock.advance(0);
    expect(story.actions.slice(0, 3)).toEqual(["open destination", "open source", "pull a"]);
  });

  test("the source is not opened before the dead letters are", async () => {
    const story = new Story([batchOf("a", 1)]);
    const opened = Promise.withResolvers<void>();
    story.deadLetters.opened = opened.promise;
    void story.pipeline().run();
    await story.clock.advance(60_000);
    expect(story.actions).toEqual(["open destination"]);
    opened.resolve();
    await story.clock.advance(0);
    expect(story.actions.slice(1, 3)).toEqual(["open source", "pull a"]);
  });

  test("the state is that of the part that is held, in the order destination, source, dead letters", () => {
    const story = new Story();
    const pipeline = story.pipeline();
    expect([pipeline.state, pipeline.stateReason]).toEqual(["ACTIVE", ""]);
    Object.assign(story.deadLetters, { state: "UNAVAILABLE", stateReason: "no topic" });
    expect([pipeline.state, pipeline.stateReason]).toEqual(["UNAVAILABLE", "no topic"]);
    Object.assign(story.source, { state: "PERMISSION_DENIED", stateReason: "no right" });
    expect([pipeline.state, pipeline.stateReason]).toEqual(["PERMISSION_DENIED", "no right"]);
    Object.assign(story.destination, { state: "NOT_FOUND", stateReason: "no table" });
    expect([pipeline.state, pipeline.stateReason]).toEqual(["NOT_FOUND", "no table"]);
  });

  test("a part that only waits for its turn hides none that is held", () => {
    const story = new Story();
    const pipeline = story.pipeline();
    Object.assign(story.source, { state: "STARTING" });
    expect(pipeline.state).toBe("STARTING");
    Object.assign(story.deadLetters, { state: "MISCONFIGURED", stateReason: "the same topic" });
    expect([pipeline.state, pipeline.stateReason]).toEqual(["MISCONFIGURED", "the same topic"]);
  });

  test("a pipeline whose start is held can be drained", async () => {
    const story = new Story([batchOf("a", 1)]);
    story.destination.opened = new Promise(() => undefined);
    const pipeline = story.pipeline();
    void pipeline.run();
    await story.clock.advance(5);
    await pipeline.drain(1000);
    expect(story.actions).toEqual([
      "drain dead letters",
      "open destination",
      "drain destination by 805",
      "close dead letters",
      "close source",
      "close destination",
    ]);
    expect(pipeline.state).toBe("STOPPED");
  });
});

describe("drain", () => {
  test("stop pulling, flush, await appends, publish letters, settle, close", async () => {
    const story = new Story([batchOf("a", 2)]);
    const flushed = Promise.withResolvers<void>();
    story.destination.drained = flushed.promise;
    story.destination.outcomes = async () => {
      await flushed.promise;
      return new Map([[1, refused("OUT_OF_RANGE")]]);
    };
    const pipeline = story.pipeline();
    await actionsOf(story, pipeline);
    const drained = pipeline.drain(30_000);
    expect(pipeline.state).toBe("DRAINING");
    await story.clock.advance(0);
    flushed.resolve();
    await drained;
    expect(story.actions.slice(4)).toEqual([
      "drain dead letters",
      "stop pulling",
      "drain destination by 24000",
      "delivered a",
      "publish a-1 OUT_OF_RANGE",
      "published",
      "count 1 letters",
      "settle a: ack 2",
      "close dead letters",
      "close source",
      "close destination",
    ]);
    expect(pipeline.state).toBe("STOPPED");
  });

  test("what is not durable when the time is nearly over is abandoned and given back", async () => {
    const story = new Story([batchOf("a", 2)]);
    story.destination.drained = new Promise(() => undefined);
    story.destination.outcomes = async (_, signal) => {
      await aborted(signal);
      return new Map<number, Outcome>([
        [0, { kind: "abandoned" }],
        [1, { kind: "abandoned" }],
      ]);
    };
    const pipeline = story.pipeline();
    await actionsOf(story, pipeline);
    const drained = pipeline.drain(10_000);
    await story.clock.advance(7999);
    expect(story.actions.at(-1)).toBe("drain destination by 8000");
    await story.clock.advance(1);
    await drained;
    expect(story.actions.slice(7)).toEqual([
      "delivered a",
      "count 2 given back",
      "settle a: ack 0, nack 0 for 0 ms, nack 1 for 0 ms",
      "close dead letters",
      "close source",
      "close destination",
    ]);
  });

  test("letters that still wait when the time is nearly over keep only their own messages from being acked", async () => {
    const story = new Story([batchOf("a", 3)]);
    const confirmation = Promise.withResolvers<void>();
    story.deadLetters.confirmed = confirmation.promise;
    story.deadLetters.result = () => ({ ok: false, why: "stopping", reason: "Millrace is stopping" });
    story.deadLetters.close = async () => confirmation.resolve();
    story.destination.outcomes = async () => new Map([[1, refused("OUT_OF_RANGE")]]);
    const pipeline = story.pipeline();
    await actionsOf(story, pipeline);
    const drained = pipeline.drain(10_000);
    await story.clock.advance(8999);
    expect(story.actions.at(-1)).toBe("drain destination by 8000");
    await story.clock.advance(1001);
    await drained;
    expect(story.actions.slice(-7)).toEqual([
      "published",
      "count 0 letters",
      "count a letter stopping",
      "count 1 given back",
      "settle a: ack 2, nack 1 for 0 ms",
      "close source",
      "close destination",
    ]);
  });

  test("a part that hangs cannot keep the drain beyond its time", async () => {
    const story = new Story([batchOf("a", 1)]);
    story.destination.outcomes = () => new Promise(() => undefined);
    story.destination.drained = new Promise(() => undefined);
    story.source.close = () => new Promise(() => undefined);
    const pipeline = story.pipeline();
    await actionsOf(story, pipeline);
    let drained = false;
    void pipeline.drain(10_000).then(() => (drained = true));
    await story.clock.advance(9999);
    expect(drained).toBe(false);
    await story.clock.advance(1);
    expect(drained).toBe(true);
    expect(story.actions.some((action) => action.startsWith("settle"))).toBe(false);
  });
});

describe("a defect", () => {
  test("in a part stops pulling, settles nothing of its batch, and is told", async () => {
    const story = new Story([batchOf("good", 1), batchOf("bad", 1)]);
    story.destination.outcomes = async (batch) => {
      if (idOf(batch) === "bad") throw new TypeError("a defect");
      return new Map();
    };
    await expect(story.pipeline().run()).rejects.toThrow("a defect");
    expect(story.actions.filter((action) => action.startsWith("settle"))).toEqual(["settle good: ack 1"]);
    expect(story.actions).toContain("stop pulling");
  });

  test("is told although other batches cannot be finished", async () => {
    const story = new Story([batchOf("held", 1), batchOf("bad", 1)]);
    story.destination.outcomes = (batch) =>
      idOf(batch) === "bad" ? Promise.reject(new TypeError("a defect")) : new Promise(() => undefined);
    await expect(story.pipeline().run()).rejects.toThrow("a defect");
  });

  test("while opening is told", async () => {
    const story = new Story();
    story.destination.opened = Promise.reject(new Error("cannot open"));
    await expect(story.pipeline().run()).rejects.toThrow("cannot open");
    expect(story.actions).toEqual([]);
  });
});
