import { describe, expect, test } from "vitest";
import { JsonColumnScan } from "../../../src/read/json-column.ts";
import { JsonReader } from "../../../src/read/json-reader.ts";
import { PayloadFault } from "../../../src/read/payload-fault.ts";

/** Where the value ends, or the code of its fault and where it is. */
function scan(text: string, rounds = false): number | string {
  const bytes = Buffer.from(`${text},`);
  const reader = new JsonReader();
  reader.open(bytes, bytes.length);
  try {
    return new JsonColumnScan(reader, rounds).scan(0, 1);
  } catch (error) {
    if (error instanceof PayloadFault) return `${error.code} at ${error.offset}`;
    throw error;
  }
}

describe("values of JSON columns", () => {
  test.each([
    ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}', 41],
    ["18446744073709551615", 20],
    ['"text \\u00e9"', 13],
    [`${"[".repeat(500)}${"]".repeat(500)}`, 1000],
    ["null", 4],
  ])("%.30s goes through", (text, length) => {
    expect(scan(text)).toBe(length);
  });

  test.each([
    ['{"a":1,"a":2}', "DUPLICATE_FIELD at 7"],
    ['{"a":1,"\\u0061":2}', "DUPLICATE_FIELD at 7"],
    ['[{"x":{"y":1,"z":[],"y":2}}]', "DUPLICATE_FIELD at 20"],
    ["[1, 18446744073709551616]", "PRECISION_LOSS at 4"],
    ['{"a":1e400}', "OUT_OF_RANGE at 5"],
    [`${"[".repeat(501)}${"]".repeat(501)}`, "OUT_OF_RANGE at 500"],
    ['{"a":01}', "MALFORMED_PAYLOAD at 5"],
    ['["\\ud800"]', "MALFORMED_PAYLOAD at 2"],
  ])("%.30s is refused at its place", (text, expected) => {
    expect(scan(text)).toBe(expected);
  });

  test("rounding lets numbers through that are no doubles, but none that are beyond all of them", () => {
    expect(scan("0.10000000000000000001", true)).toBe(22);
    expect(scan("1e400", true)).toBe("OUT_OF_RANGE at 0");
  });
});
