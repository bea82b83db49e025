import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { RefusalCode } from "../../../src/errors.ts";
import { parseTableSchema } from "../../../src/schema/table-schema.ts";
import { protoTypeOf } from "../../../src/schema/wire-type.ts";
import { convert, kindOf, readBack } from "../../support/convert.ts";

interface Vector {
  readonly id: string;
  readonly type: string;
  readonly mode?: string;
  readonly params?: object;
  readonly inputText: string;
  readonly ok: boolean;
  readonly code?: RefusalCode;
  readonly msg?: string;
}

const file = new URL("../../fixtures/bigquery-values.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { readonly vectors: readonly Vector[] };

/** Structures, arrays, nulls and JSON columns take a reader: they are tested with the transcoder. */
const scalars = vectors.filter(
  (vector) =>
    vector.mode !== "REPEATED" &&
    !["RECORD", "RANGE", "JSON"].includes(vector.type) &&
    kindOf(vector.inputText) !== "null" &&
    !vector.inputText.includes(String.raw`\ud800`),
);

describe("the shared conversion vectors, one scalar column each", () => {
  test("are all here", () => expect(scalars.length).toBeGreaterThan(330));

  test.each(scalars.map((vector) => [vector.id, vector] as const))("%s", (_id, vector) => {
    const [column] = parseTableSchema([{ name: "v", type: vector.type, ...vector.params }]).columns;
    const proto = protoTypeOf(column!);
    const converted = convert(vector.inputText, column!);
    // The message of a vector is the field's tag and the value.
    const value = "wire" in converted ? readBack(converted.wire, proto) : "refused";
    expect(value).toBe(vector.ok ? readBack(vector.msg!.slice(2), proto) : "refused");
    const code = "fault" in converted ? converted.fault.code : "TYPE_MISMATCH";
    expect(code).toBe(vector.code ?? code);
  });
});
