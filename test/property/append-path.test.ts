/**
 * The append path against a server that misbehaves at random: whatever it does, every message has one fate in the
 * end, and it is the true one. `PROPERTY_SEED` repeats a run, `PROPERTY_RUNS` sets how many there are.
 */
import { expect, test } from "vitest";
import type { Outcomes } from "../../src/message.ts";
import { AppendStorm } from "../support/append-storm.ts";
import { PayloadBatch } from "../support/payload-batch.ts";
import { propertySeed } from "../support/property-seed.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";

const runs = Number(process.env["PROPERTY_RUNS"] ?? 150);

/** A message of some kind, with a number that no other has. */
function payloadOf(storm: AppendStorm, number: number): string {
  if (storm.chance(0.03)) return `bad ${number}`;
  if (storm.chance(0.03)) return `poison ${number}`;
  if (storm.chance(0.01)) return `mystery ${number}`;
  if (storm.chance(0.03)) return `field nonsense ${number}`;
  if (storm.chance(0.05)) return `field late ${number}`;
  return `good ${number}`;
}

const fateOf: Readonly<Record<string, string>> = {
  bad: "TYPE_MISMATCH",
  poison: "ROW_REJECTED",
  mystery: "ROW_REJECTED",
  "field nonsense": "UNKNOWN_FIELD",
  "field late": "durable",
  good: "durable",
};

test.each(["atLeastOnce", "exactlyOnce"] as const)(
  `every message has its one true fate, %s (PROPERTY_SEED=${propertySeed}, ${runs} runs)`,
  async (delivery) => {
    for (let run = 0; run < runs; run++) {
      const { told, written, payloads, doubled } = await weather(propertySeed + run, delivery);
      const expected = payloads.map(expectedFate);
      const replay = `PROPERTY_SEED=${propertySeed + run} PROPERTY_RUNS=1`;
      const shouldBeWritten = expected.map((fate) => fate === "durable");
      expect({ replay, told, written }).toEqual({ replay, told: expected, written: shouldBeWritten });
      // The default stream may write twice what it did not answer.
      const notAllowed = delivery === "exactlyOnce" ? doubled : [];
      expect({ replay, notAllowed }).toEqual({ replay, notAllowed: [] });
    }
  },
  120_000,
);

interface Reckoning {
  readonly payloads: readonly string[];
  /** What was told of each message. */
  readonly told: readonly string[];
  /** The server has its row. */
  readonly written: readonly boolean[];
  /** Rows that it has more than once. */
  readonly doubled: readonly string[];
}

async function weather(start: number, delivery: "atLeastOnce" | "exactlyOnce"): Promise<Reckoning> {
  const storm = new AppendStorm(start, delivery);
  const { clock } = storm;
  const to = storm.destination();
  void to.open(new AbortController().signal);
  const delivered: { readonly payloads: readonly string[]; outcomes?: Outcomes }[] = [];
  let number = 0;
  for (let step = 0; step < 30; step++) {
    if (step === 10) storm.fields = ["a", "late"];
    const payloads = Array.from({ length: storm.below(40) }, () => payloadOf(storm, number++)).filter(
      (payload) => step > 10 || !payload.startsWith("field late"),
    );
    const entry: (typeof delivered)[number] = { payloads };
    delivered.push(entry);
    void to
      .deliver(batchOf(payloads, clock), new AbortController().signal)
      .then((outcomes) => Object.assign(entry, { outcomes }));
    await clock.advance(storm.below(2000));
  }
  storm.calm = true;
  // A row that nobody names is blamed once others go in.
  for (let i = 0; i < 40 && delivered.some(({ outcomes }) => !outcomes); i++) {
    void to.deliver(batchOf([`good ${number++}`], clock), new AbortController().signal);
    await clock.advance(60_000);
  }
  await to.close();
  await clock.advance(0);
  const payloads = delivered.flatMap((entry) => entry.payloads);
  const told = delivered.flatMap((entry) =>
    entry.payloads.map((_, i) => (entry.outcomes ? word(entry.outcomes, i) : "no fate")),
  );
  const doubled = [...storm.stored].filter(([, times]) => times > 1).map(([row]) => row);
  return { payloads, told, written: payloads.map((payload) => storm.stored.has(payload)), doubled };
}

function batchOf(payloads: readonly string[], clock: VirtualClock): PayloadBatch {
  return new PayloadBatch(
    payloads.map((payload) => Buffer.from(payload)),
    { messageId: "m", publishTimeMicros: BigInt(clock.now() * 1000), attributes: new Map(), orderingKey: "" },
  );
}

function word(outcomes: Outcomes, i: number): string {
  const outcome = outcomes.at(i);
  return outcome.kind === "refused" ? outcome.refusal.code : outcome.kind;
}

function expectedFate(payload: string): string {
  return fateOf[payload.replace(/ \d+$/, "")]!;
}
