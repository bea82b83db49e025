/** Exactly-once delivery (PULL-01): what each ack ID of a request comes to. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeConsumer } from "../../../support/fake-consumer.ts";
import { propertySeed } from "../../../support/property-seed.ts";
import { TestBroker, unackedTexts } from "../../../support/pubsub-broker.ts";

const seconds = (count: number): number => count * 1000;
const invalid = "PERMANENT_FAILURE_INVALID_ACK_ID";
const unordered = "TRANSIENT_FAILURE_UNORDERED_ACK_ID";

function attached(options: object = {}): { test: TestBroker; consumer: FakeConsumer } {
  const test = new TestBroker({ enableExactlyOnceDelivery: true, ...options });
  const consumer = new FakeConsumer({ clock: test.clock });
  test.subscription.attach(consumer);
  return { test, consumer };
}

describe("an ack ID", () => {
  test("of a lease that runs is acked, the others of its request fail alone", () => {
    const { test, consumer } = attached();
    test.publish("a", "b", "c");
    const numbers = ["a", "b", "c"].map((text) => consumer.latest(text));
    expect(test.subscription.acknowledge([numbers[0]!])).toEqual([]);
    const failures = test.subscription.acknowledge([numbers[0]!, numbers[1]!, 99, numbers[2]!]);
    expect(failures).toEqual([
      { index: 0, code: invalid },
      { index: 2, code: invalid },
    ]);
    expect(unackedTexts(test.subscription)).toEqual([]);
  });

  test("whose lease has ended fails, for acks and for deadlines, and has no effect", async () => {
    const { test, consumer } = attached();
    test.publish("a");
    const number = consumer.latest("a");
    consumer.ready = false;
    await test.clock.advance(seconds(10));
    const expired = [{ index: 0, code: invalid }];
    expect(test.subscription.acknowledge([number])).toEqual(expired);
    expect(test.subscription.modifyDeadlines([number], 60)).toEqual(expired);
    expect(test.subscription.modifyDeadlines([number], 0)).toEqual(expired);
    expect(unackedTexts(test.subscription)).toEqual(["a"]);
  });

  test("is replaced by the next one: only the newest is valid", async () => {
    const { test, consumer } = attached();
    test.publish("a");
    const older = consumer.latest("a");
    await test.clock.advance(seconds(10));
    expect(consumer.newTexts()).toEqual(["a", "a"]);
    expect(test.subscription.acknowledge([older, consumer.latest("a")])).toEqual([{ index: 0, code: invalid }]);
    expect(unackedTexts(test.subscription)).toEqual([]);
  });

  test("that a script lets fail has no effect, and may be tried again", () => {
    const { test, consumer } = attached();
    test.publish("a", "b");
    const numbers = ["a", "b"].map((text) => consumer.latest(text));
    const code = "TRANSIENT_FAILURE_SERVICE_UNAVAILABLE";
    const scripted = (i: number): string | undefined => (i === 1 ? code : undefined);
    expect(test.subscription.acknowledge(numbers, scripted)).toEqual([{ index: 1, code }]);
    expect(unackedTexts(test.subscription)).toEqual(["b"]);
    expect(test.subscription.acknowledge([numbers[1]!])).toEqual([]);
  });

  test("fails in silence without exactly-once delivery", () => {
    const { test, consumer } = attached({ enableExactlyOnceDelivery: false });
    test.publish("a");
    const number = consumer.latest("a");
    expect(test.subscription.acknowledge([number])).toEqual([]);
    expect(test.subscription.acknowledge([number, 99])).toEqual([]);
    expect(test.subscription.modifyDeadlines([number, 99], 0)).toEqual([]);
  });
});

describe("with ordering", () => {
  test("an ack before that of an earlier message fails, and can be tried again", () => {
    const { test, consumer } = attached({ enableMessageOrdering: true });
    test.publish("k:1", "k:2", "k:3", "other:x");
    const [one, two, three, other] = ["1", "2", "3", "x"].map((text) => consumer.latest(text));
    expect(test.subscription.acknowledge([two!, other!])).toEqual([{ index: 0, code: unordered }]);
    expect(unackedTexts(test.subscription)).toEqual(["1", "2", "3"]);
    expect(test.subscription.acknowledge([one!])).toEqual([]);
    expect(test.subscription.acknowledge([two!])).toEqual([]);
    expect(test.subscription.acknowledge([three!])).toEqual([]);
    expect(unackedTexts(test.subscription)).toEqual([]);
  });

  test("acks of one request help each other, however they stand in it", () => {
    const { test, consumer } = attached({ enableMessageOrdering: true });
    test.publish("k:1", "k:2", "k:3", "k:4");
    const [one, two, , four] = ["1", "2", "3", "4"].map((text) => consumer.latest(text));
    expect(test.subscription.acknowledge([four!, two!, one!])).toEqual([{ index: 0, code: unordered }]);
    expect(unackedTexts(test.subscription)).toEqual(["3", "4"]);
  });

  test("a message given back brings the later ones with it: their IDs are no longer valid", () => {
    const { test, consumer } = attached({ enableMessageOrdering: true });
    test.publish("k:1", "k:2", "k:3");
    const [one, two, three] = ["1", "2", "3"].map((text) => consumer.latest(text));
    consumer.newTexts();
    expect(test.subscription.modifyDeadlines([two!], 0)).toEqual([]);
    expect(consumer.newTexts()).toEqual(["2", "3"]);
    expect(test.subscription.acknowledge([one!, three!])).toEqual([{ index: 1, code: invalid }]);
  });
});

const step = fc.oneof(
  fc.record({ kind: fc.constant("publish" as const) }),
  fc.record({ kind: fc.constantFrom("ack" as const, "nack" as const, "extend" as const), pick: fc.nat() }),
  fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 12_000 }) }),
);

test(`whatever happens, no message comes while its lease runs or after its ack, and the answers say so, PROPERTY_SEED=${propertySeed}`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { test, consumer } = attached();
      const { clock, subscription } = test;
      /** A second opinion: until when the lease of each message runs, and by which number; acked: for ever. */
      const leases = new Map<string, { number: number; untilMs: number }>();
      const answers: { readonly answer: object; readonly expected: object }[] = [];
      let published = 0;
      let seen = 0;
      for (const action of steps) {
        const number = action.kind === "publish" || action.kind === "pass" ? 0 : 1 + (action.pick % (seen + 1));
        const lease = [...leases.values()].find((each) => each.number === number);
        const runs = lease !== undefined && lease.untilMs > clock.monotonic() && lease.untilMs < Infinity;
        const expected = runs ? [] : [{ index: 0, code: invalid }];
        if (action.kind === "publish") test.publish(`m${published++}`);
        if (action.kind === "pass") await clock.advance(action.ms);
        if (action.kind === "extend") {
          if (runs) lease.untilMs = clock.monotonic() + seconds(20);
          answers.push({ answer: subscription.modifyDeadlines([number], 20), expected });
        }
        if (action.kind === "ack") {
          if (runs) lease.untilMs = Infinity;
          answers.push({ answer: subscription.acknowledge([number]), expected });
        }
        if (action.kind === "nack") {
          if (runs) lease.untilMs = 0;
          answers.push({ answer: subscription.modifyDeadlines([number], 0), expected });
        }
        for (const { text, ackNumber, atMs } of consumer.received.slice(seen)) {
          expect(leases.get(text)?.untilMs ?? 0).toBeLessThanOrEqual(atMs);
          leases.set(text, { number: ackNumber, untilMs: atMs + seconds(10) });
        }
        seen = consumer.received.length;
      }
      expect(answers.map(({ answer }) => answer)).toEqual(answers.map(({ expected }) => expected));
      const left = [...leases].filter(([, { untilMs }]) => untilMs < Infinity).map(([text]) => text);
      expect(unackedTexts(subscription).toSorted()).toEqual(left.toSorted());
    }),
    { seed: propertySeed, numRuns: 200 },
  );
});
