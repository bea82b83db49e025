/** BigQuery refuses rows and never says which, while what may be held is full of them. */
import { expect, test } from "vitest";
import { Stage } from "./stage.ts";

const bad = "not wanted";
const rowErrorsContaining = { bytes: Buffer.from(bad).toString("hex"), message: "no", atMost: 0 };
const small = {
  batch: { maxRows: 1, maxDelay: "5ms" },
  append: { maxInFlight: 3, maxConnections: 1 },
  pull: { maxOutstandingMessages: 20 },
};

interface Written {
  readonly isBad: (i: number) => boolean;
  /** Empty: none. */
  readonly orderingKey?: string;
  readonly delivery?: "atLeastOnce" | "exactlyOnce";
}

async function write(messages: number, { isBad, orderingKey = "", delivery = "atLeastOnce" }: Written): Promise<Stage> {
  const stage = await Stage.running({
    pipeline: { ...small, delivery },
    subscription: { enableMessageOrdering: orderingKey !== "" },
    faults: { bigquery: [{ method: "AppendRows", rowErrorsContaining }] },
  });
  for (let i = 0; i < messages; i++) {
    stage.publish([{ data: JSON.stringify({ id: i, name: isBad(i) ? bad : "fine" }), orderingKey }]);
  }
  await stage.settled(120_000);
  return stage;
}

test("bad rows among good ones, each in a request of its own", async () => {
  const stage = await write(104, { isBad: (i) => i % 11 === 5 });
  expect([stage.rowCount, stage.letters.length]).toEqual([95, 9]);
});

test("the last one of all that may be held is bad", async () => {
  const stage = await write(40, { isBad: (i) => i === 19 });
  expect([stage.rowCount, stage.letters.length]).toEqual([39, 1]);
});

test.each(["atLeastOnce", "exactlyOnce"] as const)(
  "all of one ordering key, and the first ones are bad: the others are written in order, %s",
  async (delivery) => {
    const stage = await write(8, { isBad: (i) => i < 3 || i === 5, orderingKey: "k", delivery });
    expect(stage.rows.map(({ id }) => Number(id))).toEqual([3, 4, 6, 7]);
    expect(stage.letters.length).toBe(4);
  },
);
