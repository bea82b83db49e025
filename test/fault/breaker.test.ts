/** The breaker in the whole of Millrace: order, leases and drain while it has tripped. */
import { expect, test } from "vitest";
import { Stage } from "./stage.ts";

const breaker = { share: "50%", window: 10 };

test("keys go on while it has tripped: nothing of a key is written before an earlier message, or twice", async () => {
  const stage = await Stage.running({ subscription: { enableMessageOrdering: true }, pipeline: { breaker } });
  const keys = Array.from({ length: 20 }, (_, k) => `k${k}`);
  stage.publish(
    keys.flatMap((orderingKey) => [
      { data: `{"id":"bad","name":"${orderingKey}"}`, orderingKey },
      { data: `{"id":1,"name":"${orderingKey}"}`, orderingKey },
    ]),
  );
  await stage.settled();
  expect(stage.status).toMatchObject({ state: "TRIPPED", deadLettered: 20 });
  // An hour of samples later everything is there once.
  await stage.clock.advance(3_600_000, 1000);
  expect([stage.letters.length, stage.rowCount]).toEqual([20, 20]);
  expect(new Set(stage.letters.map(({ data }) => JSON.parse(data.toString()).name))).toEqual(new Set(keys));
  expect(new Set(stage.rows.map(({ name }) => name))).toEqual(new Set(keys));
});

test("hours of it keep what is held leased and within the limits, and dead-letter nothing; the drain gives it back", async () => {
  const held = 500;
  const stage = await Stage.running({ pipeline: { breaker, pull: { maxOutstandingMessages: held } } });
  stage.publish(Array.from({ length: 2000 }, (_, i) => ({ data: `{"id":"bad${i}"}` })));
  await stage.clock.advance(3 * 3_600_000, 1000);
  const { state, outstanding, received } = stage.status;
  expect(state).toBe("TRIPPED");
  expect(outstanding).toBeLessThanOrEqual(held);
  // Once before it trips, and a batch with each of the samples: after 1, 3, 7 and 15 minutes, then every ten.
  const samples = 4 + Math.floor((180 - 15) / 10);
  expect(received).toBeLessThanOrEqual((samples + 3) * held);
  // Each was given back, or is held since it came: no lease has ended.
  expect(stage.deliveries).toBe(received);
  const start = stage.clock.monotonic();
  await stage.drain();
  expect(stage.clock.monotonic() - start).toBeLessThan(5000);
  expect(stage.letters).toEqual([]);
  expect(stage.unsettled).toBe(2000);
});
