/** Cases that users of other writers have reported: batches and sizes. Their list is test/fixtures/public-cases.json. */
import { expect, test } from "vitest";
import { Stage } from "../stage.ts";

const id = { name: "id", type: "INT64" };

function lettersOf(stage: Stage): object[] {
  return stage.letters.map(({ data, attributes }) => ({
    data: data.toString(),
    code: attributes["millrace_error_code"],
    path: attributes["millrace_error_path"],
  }));
}

test("bs-01 One bad row fails its whole batch", async () => {
  const rowErrorsContaining = { bytes: Buffer.from("toolong").toString("hex"), message: "t: at most 4 characters" };
  const stage = await Stage.running({
    columns: [id, { name: "t", type: "STRING" }],
    faults: { bigquery: [{ method: "AppendRows", rowErrorsContaining }] },
  });
  const payload = (i: number): string => `{"id":${i},"t":"${i === 7 ? "toolong" : "ok"}"}`;
  stage.publish(Array.from({ length: 10 }, (_, i) => ({ data: payload(i + 1) })));
  await stage.settled();
  expect(stage.rows).toEqual([1, 2, 3, 4, 5, 6, 8, 9, 10].map((i) => ({ id: String(i), t: "ok" })));
  expect(lettersOf(stage)).toEqual([{ data: payload(7), code: "ROW_REJECTED", path: "" }]);
  const { CloudPubSubDeadLetterSourceDeliveryErrorMessage: text } = stage.letters[0]!.attributes;
  expect(text).toContain("t: at most 4 characters");
});

test("bs-04 Batch larger than one request may be", async () => {
  const s = "x".repeat(200_000);
  const stage = await Stage.running({
    columns: [id, { name: "s", type: "STRING" }],
    pipeline: { batch: { maxBytes: "9MiB", maxDelay: "200ms" } },
  });
  stage.publish(Array.from({ length: 60 }, (_, i) => ({ data: `{"id":${i + 1},"s":"${s}"}` })));
  await stage.settled();
  const rows = stage.rows.map((row) => [row["id"], row["s"] === s]);
  expect(rows.sort((a, b) => Number(a[0]) - Number(b[0]))).toEqual(
    Array.from({ length: 60 }, (_, i) => [String(i + 1), true]),
  );
  expect(stage.letters).toEqual([]);
  // 12 MB need two requests. The server takes 10 MiB; had it refused one, there were its halves besides.
  expect(stage.bigquery.appendRequests).toBe(2);
});

test("bs-05 Single row that cannot fit any request", async () => {
  const stage = await Stage.running({ columns: [id, { name: "v", type: "FLOAT64", mode: "REPEATED" }] });
  const large = `{"id":2,"v":[${"1,".repeat(1_499_999)}1]}`;
  stage.publish([{ data: '{"id":1,"v":[1]}' }, { data: large }, { data: '{"id":3,"v":[2]}' }]);
  await stage.settled();
  expect(stage.rows).toEqual([
    { id: "1", v: [1] },
    { id: "3", v: [2] },
  ]);
  expect(stage.letters).toHaveLength(1);
  expect(stage.letters[0]!.attributes).toMatchObject({ millrace_error_code: "ROW_TOO_LARGE" });
  expect(stage.letters[0]!.data.equals(Buffer.from(large))).toBe(true);
  expect(stage.deliveries).toBe(3);
});

test("bs-06 Failed batch retried whole: duplicate flood", async () => {
  const stage = await Stage.running({ columns: [id, { name: "n", type: "NUMERIC" }] });
  stage.publish(['"1"', '"Infinity"', '"3"'].map((n, i) => ({ data: `{"id":${i + 1},"n":${n}}` })));
  await stage.clock.advance(60_000);
  expect(stage.rows).toEqual([
    { id: "1", n: "1" },
    { id: "3", n: "3" },
  ]);
  expect(lettersOf(stage)).toEqual([{ data: '{"id":2,"n":"Infinity"}', code: "TYPE_MISMATCH", path: "n" }]);
  expect(stage.unsettled).toBe(0);
});

test("bs-07 Encoding error of one event aborts the table chunk", async () => {
  const stage = await Stage.running({ columns: [id, { name: "f", type: "FLOAT64" }] });
  const payloads = [
    '{"id":1,"f":1}',
    '{"id":2,"f":',
    '{"id":3,"f":{"x":1}}',
    Buffer.from("//57fQ==", "base64"),
    '{"id":5,"f":5}',
  ];
  stage.publish(payloads.map((data) => ({ data })));
  await stage.settled();
  expect(stage.rows).toEqual([
    { id: "1", f: 1 },
    { id: "5", f: 5 },
  ]);
  expect(lettersOf(stage).map((letter) => (letter as { code: string }).code)).toEqual([
    "MALFORMED_PAYLOAD",
    "TYPE_MISMATCH",
    "MALFORMED_PAYLOAD",
  ]);
  expect(lettersOf(stage)[1]).toMatchObject({ path: "f" });
});
