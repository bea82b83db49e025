import { describe, expect, test } from "vitest";
import { BoundWriters } from "../../../../src/emulator/bigquery/bound-writer.ts";
import type { Column } from "../../../../src/emulator/bigquery/column.ts";
import { fieldJson } from "../../../../src/emulator/bigquery/column-json.ts";
import { textOfDecimal } from "../../../../src/emulator/bigquery/decimal.ts";
import { newTable, patchedTable, replacedTable } from "../../../../src/emulator/bigquery/table-resource.ts";
import { emptyCell } from "../../../../src/emulator/bigquery/row-decoder.ts";
import { columns, descriptor, field } from "./writer.ts";

const name = { project: "p", dataset: "d", table: "t" };
const money = { name: "price", type: "NUMERIC", precision: "5", scale: "2" };
const nested = { name: "part", type: "RECORD", fields: [{ ...money, name: "inner" }] };

/** What a column makes of a decimal in text. */
function stored(column: Column, text: string): string {
  const writer = new BoundWriters([column]).of(descriptor([field(column.name, 1, "string")]), "stream");
  const row = Buffer.concat([Buffer.from([0x0a, text.length]), Buffer.from(text)]);
  const [cell] = writer.decoder.decode(row, 0, emptyCell);
  return textOfDecimal(cell as bigint, column.type as "NUMERIC");
}

function modes(state: { readonly columns: readonly Column[] }): unknown[] {
  return state.columns.map((column) => fieldJson(column)["roundingMode"]);
}

describe("digits beyond the scale", () => {
  test.each([
    ["ROUND_HALF_AWAY_FROM_ZERO", "2.35", "-2.35", "2.36", "2.35"],
    ["ROUND_HALF_EVEN", "2.34", "-2.34", "2.36", "2.35"],
    ["ROUNDING_MODE_UNSPECIFIED", "2.35", "-2.35", "2.36", "2.35"],
  ])("%s", (roundingMode, ...expected) => {
    for (const type of ["NUMERIC", "BIGNUMERIC"]) {
      const [column] = columns({ ...money, type, roundingMode });
      const found = ["2.345", "-2.345", "2.355", "2.3451"].map((text) => stored(column!, text));
      expect(found).toEqual(expected);
    }
  });

  test("rounding may take a value out of range", () => {
    const [column] = columns(money);
    expect(stored(column!, "999.994")).toBe("999.99");
    expect(() => stored(column!, "999.995")).toThrow("Value is out of range of NUMERIC(5,2)");
  });
});

describe("the table's default", () => {
  const defaultRoundingMode = "ROUND_HALF_EVEN";

  test("is taken over by decimal columns without a mode of their own, nested ones too", () => {
    const own = { ...money, name: "own", roundingMode: "ROUND_HALF_AWAY_FROM_ZERO" };
    const state = newTable(
      { schema: { fields: [money, own, { name: "id", type: "INT64" }, nested] }, defaultRoundingMode },
      0,
    );
    expect(modes(state)).toEqual(["ROUND_HALF_EVEN", "ROUND_HALF_AWAY_FROM_ZERO", undefined, undefined]);
    expect(state.columns[3]?.fields[0]?.roundHalfEven).toBe(true);
    expect(stored(state.columns[0]!, "2.345")).toBe("2.34");
  });

  test("holds for new columns when it changes, not for those that are there", () => {
    const before = newTable({ schema: { fields: [money] } }, 0);
    const changed = patchedTable(name, before, { defaultRoundingMode }, 0);
    const fields = [money, { ...money, name: "new" }];
    const grown = patchedTable(name, changed, { schema: { fields } }, 0);
    expect(modes(grown)).toEqual([undefined, "ROUND_HALF_EVEN"]);
    const back = replacedTable(name, grown, { schema: { fields: [...fields, { ...money, name: "third" }] } }, 0);
    expect(modes(back)).toEqual([undefined, "ROUND_HALF_EVEN", undefined]);
    expect(stored(back.columns[1]!, "2.345")).toBe("2.34");
  });

  test("holds for a new column inside a STRUCT", () => {
    const before = newTable(
      { schema: { fields: [{ name: "part", type: "RECORD", fields: [{ name: "x", type: "DATE" }] }] } },
      0,
    );
    const grown = { name: "part", type: "RECORD", fields: [{ name: "x", type: "DATE" }, money] };
    const after = patchedTable(name, before, { defaultRoundingMode, schema: { fields: [grown] } }, 0);
    expect(after.columns[0]?.fields[1]?.roundHalfEven).toBe(true);
  });

  test("a mode that there is not", () => {
    expect(() => newTable({ defaultRoundingMode: "UP" }, 0)).toThrow("Invalid value for defaultRoundingMode");
    expect(() => newTable({ schema: { fields: [{ ...money, roundingMode: "UP" }] } }, 0)).toThrow("Invalid field");
  });
});
