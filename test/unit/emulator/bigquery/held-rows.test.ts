import { expect, test } from "vitest";
import { BoundWriter } from "../../../../src/emulator/bigquery/bound-writer.ts";
import { HeldRows } from "../../../../src/emulator/bigquery/held-rows.ts";
import { visitRows } from "../../../../src/emulator/bigquery/proto-rows.ts";
import type { RowBatch } from "../../../../src/emulator/bigquery/stored-table.ts";
import { parseWriterDescriptor } from "../../../../src/emulator/bigquery/writer-descriptor.ts";
import { bytes, columns, descriptor, field } from "./writer.ts";

const schema = parseWriterDescriptor(descriptor([field("id", 1, "int64")]));
const writer = new BoundWriter(schema, columns({ name: "id", type: "INT64" }), "stream");

/** Rows {id: n}. */
function batch(...ids: readonly number[]): RowBatch {
  return {
    writer,
    missing: { otherwise: undefined, byColumn: {} },
    context: { atMicros: 0n, seed: "seed" },
    protoRows: Buffer.concat(ids.map((id) => bytes(`0a 02 08 ${id.toString(16).padStart(2, "0")}`))),
    count: ids.length,
    firstRow: 0,
  };
}

/** The ids of each batch, and the place of its first row in its request. */
function contents(batches: readonly RowBatch[]): readonly unknown[] {
  return batches.map(({ protoRows, count, firstRow }) => {
    const ids: number[] = [];
    visitRows(protoRows, (start) => ids.push(protoRows[start + 1]!));
    expect(ids).toHaveLength(count);
    return [firstRow, ids];
  });
}

test("the first rows come out, whole requests as they are, one that is cut in two parts", () => {
  const held = new HeldRows();
  held.add(batch(1, 2));
  held.add(batch(3, 4, 5));
  held.add(batch(6));
  expect(contents(held.take(0))).toEqual([]);
  expect(contents(held.take(3))).toEqual([
    [0, [1, 2]],
    [0, [3]],
  ]);
  expect(contents(held.take(1))).toEqual([[1, [4]]]);
  expect(contents(held.take(2))).toEqual([
    [2, [5]],
    [0, [6]],
  ]);
});

test("what is cleared is gone", () => {
  const held = new HeldRows();
  held.add(batch(1));
  held.clear();
  held.add(batch(2));
  expect(contents(held.take(1))).toEqual([[0, [2]]]);
});
