import { expect, test } from "vitest";
import { demoPayloads, spoilings } from "../../../src/commands/demo-orders.ts";

/** What a shop would publish: parsed, and without a fault that JSON alone can show. */
function isGood(payload: Buffer): boolean {
  const text = payload.toString();
  if (text.includes("\uFFFD") || !text.endsWith("}")) return false;
  const order = JSON.parse(text) as Record<string, unknown> & {
    items: unknown[];
    total: string;
    customer: { id: unknown };
  };
  const expectedKeys = "order_id,customer,items,total,created_at,delivery_day,details";
  return (
    Object.keys(order).join() === expectedKeys &&
    !order.items.includes(null) &&
    /^\d+\.\d\d$/.test(order.total) &&
    typeof order.customer.id === "number" &&
    !String(order["created_at"]).startsWith("2026-02-30")
  );
}

test("of 2,000 payloads 20 are bad, each of at least 8 ways in turn, spread evenly", () => {
  const payloads = demoPayloads(2000, 20, 2026);
  expect(payloads).toHaveLength(2000);
  const bad = payloads.flatMap((payload, i) => (isGood(payload) ? [] : [i]));
  expect(bad).toEqual(Array.from({ length: 20 }, (_, turn) => 50 + 100 * turn));
  expect(new Set(spoilings.map(({ code }) => code)).size).toBeGreaterThanOrEqual(8);
});

test("the same seed gives the same payloads, another one others", () => {
  const digest = (seed: number): string => Buffer.concat(demoPayloads(50, 5, seed)).toString("base64");
  expect(digest(7)).toBe(digest(7));
  expect(digest(7)).not.toBe(digest(8));
});
