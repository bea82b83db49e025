/** Cases that users of other writers have reported: tables that change. Their list is test/fixtures/public-cases.json. */
import { expect, test } from "vitest";
import { idAndName, Stage, table } from "../stage.ts";

const dropping = { dropUnknownFields: true };
/** So that only what is told or comes to light makes the schema be read. */
const noSchedule = { schemaRefreshInterval: "1d" };

test("ch-01 Column added while messages flow", async () => {
  const stage = await Stage.running({ bigquery: dropping, pipeline: noSchedule });
  stage.publish([{ data: '{"id":1,"name":"a","city":"Rome"}' }]);
  await stage.settled();
  stage.bigquery.patchTable(table, [...idAndName, { name: "city", type: "STRING" }]);
  stage.publish([{ data: '{"id":3,"name":"c"}' }]);
  await stage.settled();
  await stage.clock.advance(5000);
  stage.publish([{ data: '{"id":2,"name":"b","city":"Oslo"}' }]);
  await stage.settled();
  expect(stage.rows).toEqual([
    { id: "1", name: "a", city: null },
    { id: "3", name: "c", city: null },
    { id: "2", name: "b", city: "Oslo" },
  ]);
  expect(stage.letters).toEqual([]);
});

test("ch-03 Schema returned in another column order", async () => {
  const text = (name: string): object => ({ name, type: "STRING" });
  const stage = await Stage.running({ columns: [text("a"), text("b"), { name: "n", type: "INT64" }] });
  stage.publish([{ data: '{"a":"A1","b":"B1","n":1}' }]);
  await stage.settled();
  expect(stage.rows).toEqual([{ a: "A1", b: "B1", n: "1" }]);
  // Only a new table has its columns in another order.
  stage.bigquery.deleteTable(table);
  stage.bigquery.createTable(table, [{ name: "n", type: "INT64" }, text("b"), text("a"), text("z")]);
  await stage.clock.advance(61_000, 500);
  stage.publish([{ data: '{"a":"A2","b":"B2","n":2}' }]);
  await stage.settled();
  expect(stage.rows).toEqual([{ n: "2", b: "B2", a: "A2", z: null }]);
  // The column that only the new order has is written, so the request had the new writer schema.
  stage.publish([{ data: '{"z":"Z3","a":"A3","b":"B3","n":3}' }]);
  await stage.settled();
  expect(stage.rows.at(-1)).toEqual({ n: "3", b: "B3", a: "A3", z: "Z3" });
});

test("ch-04 Fresh connection built from a stale schema copy", async () => {
  const stage = await Stage.running({ bigquery: dropping, pipeline: noSchedule });
  stage.publish([{ data: '{"id":1,"name":"a","city":"x"}' }]);
  await stage.settled();
  stage.bigquery.patchTable(table, [...idAndName, { name: "city", type: "STRING" }]);
  // The service closes the idle connection without a word about the schema.
  await stage.clock.advance(610_000, 500);
  stage.publish([{ data: '{"id":2,"name":"b","city":"y"}' }]);
  await stage.settled();
  expect(stage.rows).toEqual([
    { id: "1", name: "a", city: null },
    { id: "2", name: "b", city: "y" },
  ]);
});

test("ch-05 New field inside an array of records", async () => {
  const withFields = (...names: readonly string[]): object[] => [
    { name: "id", type: "INT64" },
    { name: "ctx", type: "RECORD", mode: "REPEATED", fields: names.map((name) => ({ name, type: "STRING" })) },
  ];
  const stage = await Stage.running({ columns: withFields("k"), bigquery: dropping, pipeline: noSchedule });
  stage.publish([{ data: '{"id":1,"ctx":[{"k":"a","v":"1"}]}' }]);
  await stage.settled();
  stage.bigquery.patchTable(table, withFields("k", "v"));
  stage.publish([{ data: '{"id":0,"ctx":[]}' }]);
  await stage.settled();
  await stage.clock.advance(5000);
  stage.publish([{ data: '{"id":2,"ctx":[{"k":"b","v":"2"}]}' }]);
  await stage.settled();
  expect(stage.rows).toEqual([
    { id: "1", ctx: [{ k: "a", v: null }] },
    { id: "0", ctx: [] },
    { id: "2", ctx: [{ k: "b", v: "2" }] },
  ]);
});

test("ch-06 Table dropped and made anew under the same name", async () => {
  const stage = await Stage.running();
  stage.publishNumbered(1, 2);
  await stage.settled();
  stage.bigquery.deleteTable(table);
  stage.bigquery.createTable(table, idAndName);
  const error = { status: "NOT_FOUND", message: "Table is deleted", storageError: "TABLE_NOT_FOUND" } as const;
  stage.bigquery.faults.replace([{ method: "AppendRows", call: "1-3", error }]);
  stage.publishNumbered(3, 5);
  await stage.clock.until("the state tells it", () => stage.status.state === "NOT_FOUND", 60_000);
  expect(stage.unsettled).toBe(3);
  await stage.settled(600_000);
  expect(stage.rows.map((row) => row["id"])).toEqual(["3", "4", "5"]);
  expect(stage.letters).toEqual([]);
  expect(stage.status.state).toBe("ACTIVE");
});

test("ch-07 Column relaxed from REQUIRED to NULLABLE", async () => {
  const columns = (mode: string): object[] => [
    { name: "id", type: "INT64" },
    { name: "c", type: "STRING", mode },
  ];
  const stage = await Stage.running({ columns: columns("REQUIRED"), pipeline: noSchedule });
  // Only connections that are older than a change are told of it.
  stage.publish([{ data: '{"id":0,"c":"first"}' }, { data: '{"id":1}' }]);
  await stage.settled();
  stage.bigquery.patchTable(table, columns("NULLABLE"));
  stage.publish([{ data: '{"id":2,"c":"x"}' }]);
  await stage.settled();
  await stage.clock.advance(5000);
  stage.publish([{ data: '{"id":3}' }]);
  await stage.settled();
  expect(stage.rows).toEqual([
    { id: "0", c: "first" },
    { id: "2", c: "x" },
    { id: "3", c: null },
  ]);
  expect(stage.letters.map(({ data, attributes }) => [data.toString(), attributes])).toEqual([
    [
      '{"id":1}',
      expect.objectContaining({ millrace_error_code: "MISSING_REQUIRED", millrace_error_path: "c" }) as object,
    ],
  ]);
});
