import { describe, expect, test } from "vitest";
import { bindConversion, compatibility } from "../../../src/mapping/compatibility.ts";
import { fieldKinds } from "../../../src/schema/field.ts";
import type { FieldKind } from "../../../src/schema/field.ts";
import { columnTypes } from "../../../src/schema/table-schema.ts";
import type { ColumnType } from "../../../src/schema/table-schema.ts";
import { protoTypeOf } from "../../../src/schema/wire-type.ts";
import { column, convert, defaultOptions, readBack } from "../../support/convert.ts";

/** One value for every cell that a conversion of its own fills, and what arrives. */
const examples: readonly (readonly [kind: FieldKind, type: ColumnType, json: string, arrives: string])[] = [
  ["json text", "BOOL", '"True"', "true"],
  ["json text", "INT64", '"-42"', "-42"],
  ["json text", "FLOAT64", '"0.5"', "000000000000e03f"],
  ["json text", "NUMERIC", '"1.2"', "008c8647"],
  ["json text", "BIGNUMERIC", '"1e-38"', "01"],
  ["json text", "STRING", '"é\\n"', "é\n"],
  ["json text", "BYTES", '"AAEC"', "000102"],
  ["json text", "DATE", '"1970-01-02"', "1"],
  ["json text", "TIME", '"00:00:00.000001"', "1"],
  ["json text", "DATETIME", '"0001-01-01"', "74904229642240"],
  ["json text", "TIMESTAMP", '"1970-01-01 00:00:01"', "1000000"],
  ["json text", "GEOGRAPHY", '"POINT(1 2)"', "POINT(1 2)"],
  ["json text", "INTERVAL", '"P1D"', "0-0 1 0:0:0"],
  ["json number", "INT64", "1e3", "1000"],
  ["json number", "FLOAT64", "-2", "00000000000000c0"],
  ["json number", "NUMERIC", "-1", "003665c4"],
  ["json number", "BIGNUMERIC", "-1e-38", "ff"],
  ["json number", "STRING", "1.50", "1.50"],
  ["json number", "DATE", "-719162", "-719162"],
  ["json number", "TIME", "102806536767", "102806536767"],
  ["json number", "DATETIME", "703674213004689983", "703674213004689983"],
  ["json number", "TIMESTAMP", "-62135596800000000", "-62135596800000000"],
  ["json boolean", "BOOL", "false", "false"],
  ["json boolean", "STRING", "true", "true"],
  ["json object", "GEOGRAPHY", '{"type":"Point","coordinates":[1,2]}', '{"type":"Point","coordinates":[1,2]}'],
];

/** Cells whose conversions walk on through the payload. */
const walking = new Set(["JSON", "RANGE", "STRUCT"]);

describe("the matrix", () => {
  test.each(examples)("%s into %s: %s", (_kind, type, json, arrives) => {
    const converted = convert(json, column(type));
    expect("wire" in converted ? readBack(converted.wire, protoTypeOf(column(type))) : converted).toBe(arrives);
  });

  test("has an example above for every cell, or the transcoder has the conversion", () => {
    const cells = fieldKinds.flatMap((kind) => Object.keys(compatibility[kind]).map((type) => `${kind} ${type}`));
    const covered = new Set(examples.map(([kind, type]) => `${kind} ${type}`));
    expect(cells.filter((cell) => !covered.has(cell) && !walking.has(cell.split(" ")[2]!))).toEqual([]);
    expect(covered.size).toBe(cells.length - cells.filter((cell) => walking.has(cell.split(" ")[2]!)).length);
  });

  test("binds a conversion for these cells and for no other pair", () => {
    const covered = new Set(examples.map(([kind, type]) => `${kind} ${type}`));
    for (const kind of fieldKinds) {
      for (const type of columnTypes) {
        const bound = bindConversion(kind, column(type), defaultOptions) !== undefined;
        expect([kind, type, bound]).toEqual([kind, type, covered.has(`${kind} ${type}`)]);
      }
    }
  });

  test("says exact only where no value is refused or rounded", () => {
    const exact = fieldKinds.flatMap((kind) =>
      Object.entries(compatibility[kind]).flatMap(([type, { fidelity }]) =>
        fidelity === "exact" ? `${kind} ${type}` : [],
      ),
    );
    expect(exact).toEqual([
      "json text STRING",
      "json number STRING",
      "json boolean BOOL",
      "json boolean STRING",
      "json boolean JSON",
    ]);
    const lossy = fieldKinds.flatMap((kind) =>
      Object.entries(compatibility[kind]).flatMap(([type, { fidelity }]) =>
        fidelity === "lossy" ? `${kind} ${type}` : [],
      ),
    );
    expect(lossy).toEqual(["json number FLOAT64", "json number NUMERIC", "json number BIGNUMERIC"]);
  });

  test("never tells the value in a fault", () => {
    const secret = "4111111111111111x";
    for (const type of columnTypes) {
      const converted = convert(JSON.stringify(secret), column(type, { maxLength: 3 }));
      expect("fault" in converted ? converted.fault.message : "").not.toContain(secret);
    }
  });
});
