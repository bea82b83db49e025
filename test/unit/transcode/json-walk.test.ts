import { describe, expect, test } from "vitest";
import { mapped } from "../../support/mapped.ts";

const order = [
  { name: "id", type: "INT64", mode: "REQUIRED" },
  { name: "name", type: "STRING" },
  { name: "tags", type: "STRING", mode: "REPEATED" },
  { name: "counts", type: "INT64", mode: "REPEATED" },
  {
    name: "items",
    type: "RECORD",
    mode: "REPEATED",
    fields: [
      { name: "sku", type: "STRING", mode: "REQUIRED" },
      { name: "qty", type: "INT64" },
      { name: "doc", type: "JSON" },
    ],
  },
  { name: "period", type: "RANGE", rangeElementType: { type: "DATE" } },
];

const refusal = (payload: string, own = {}): string => mapped(order, [payload], own)[0]!.refused ?? "row";

describe("one fault per message", () => {
  test.each([
    // Malformed comes first, wherever it is.
    ['{"zz":1,"id":"x"', "MALFORMED_PAYLOAD "],
    ['{"id":1,"id":2} x', "MALFORMED_PAYLOAD "],
    ['{"name":["\\ud800"],"id":1}', "MALFORMED_PAYLOAD "],
    // Then the first in the order of the payload.
    ['{"zz":1,"id":"x"}', "UNKNOWN_FIELD zz"],
    ['{"id":"x","zz":1}', "TYPE_MISMATCH id"],
    ['{"id":1,"ID":2,"zz":1}', "DUPLICATE_FIELD ID"],
    ['{"id":1,"items":[{"sku":"a"},{"sku":"b","qty":1.5}],"tags":[null]}', "TYPE_MISMATCH items[1].qty"],
    ['{"id":1,"tags":["a",null]}', "NULL_IN_ARRAY tags[1]"],
    ['{"id":1,"counts":[1,null]}', "NULL_IN_ARRAY counts[1]"],
    ['{"id":1,"items":[{"sku":"a","doc":{"x":[1,{"y":1,"y":2}]}}]}', "DUPLICATE_FIELD items[0].doc.x[1].y"],
    ['{"id":1,"items":[{"sku":"a","doc":"{\\"x\\":{\\"y\\":1,\\"y\\":2}}"}]}', "DUPLICATE_FIELD items[0].doc.x.y"],
    ['{"id":1,"items":[{"sku":"a","doc":"{\\"x\\":1,\\"x\\":2,"}]}', "TYPE_MISMATCH items[0].doc"],
    ['{"id":1,"items":[{"sku":"a","doc":"[1e999]"}]}', "OUT_OF_RANGE items[0].doc[0]"],
    ['{"period":{"start":"2024-02-01","end":"2024-01-01"},"id":"x"}', "OUT_OF_RANGE period"],
    ['{"period":{"start":"2024-02-01","stop":1},"id":1}', "UNKNOWN_FIELD period.stop"],
    ['{"period":"2024","id":1}', "TYPE_MISMATCH period"],
    // A missing value comes last, in the order of the table.
    ['{"items":[{"qty":1}],"zz":1}', "UNKNOWN_FIELD zz"],
    ['{"items":[{"sku":"a"},{"qty":1}],"name":"x"}', "MISSING_REQUIRED id"],
    ['{"items":[{"sku":"a"},{"qty":1},{}],"id":1}', "MISSING_REQUIRED items[1].sku"],
    ['{"Items":[{"SKU":null}],"id":1}', "MISSING_REQUIRED Items[0].SKU"],
    ['{"id":null}', "MISSING_REQUIRED id"],
  ])("%s", (payload, expected) => {
    expect(refusal(payload)).toBe(expected);
  });

  test.each([
    ['{"id":1,"a":1,"a":2}', "DUPLICATE_FIELD a"],
    ['{"id":1,"a":{"b":1,"\\u0062":2}}', "DUPLICATE_FIELD a.b"],
    ['{"id":1,"a":1,"A":2}', "row"],
    ['{"id":1,"a":"\\ud800"}', "MALFORMED_PAYLOAD "],
    ['{"id":1,"\\udfff":1}', "MALFORMED_PAYLOAD "],
    ['{"id":1,"a":[01]}', "MALFORMED_PAYLOAD "],
    ['{"id":1,"items":[{"sku":"a","zz":{}}],"zz":[]}', "row"],
  ])("%s, with unknown fields dropped", (payload, expected) => {
    expect(refusal(payload, { dropUnknownFields: true })).toBe(expected);
  });

  test.each([
    "",
    " ",
    "null",
    "[1]",
    '"{}"',
    "\ufeff{}",
    "{}{}",
    "{} ,",
    "{'id':1}",
    '{"id":1,}',
    '{,"id":1}',
    '{"id" 1}',
    '{"id":1 "name":"x"}',
  ])("%j is no payload", (payload) => {
    expect(refusal(payload)).toBe("MALFORMED_PAYLOAD ");
  });

  test("a bad message costs its neighbours nothing", () => {
    const results = mapped(order, [
      '{"id":1,"name":"a"}',
      '{"id":2,"name":5e,"tags":[]}',
      '{"name":"half","id":"x"}',
      '{"id":4}',
    ]);
    expect(results).toEqual([
      { row: { f1: "1", f2: "a" } },
      { refused: "MALFORMED_PAYLOAD " },
      { refused: "TYPE_MISMATCH id" },
      { row: { f1: "4" } },
    ]);
  });
});

describe("keys", () => {
  const columns = Array.from({ length: 40 }, (_, i) => ({ name: `column_${i}`, type: "INT64" }));

  test("come in any order, absent or not, in any case, compact or not, with or without escapes", () => {
    const payloads: string[] = [];
    const rows: Record<string, string>[] = [];
    for (let round = 0; round < 200; round++) {
      const picked = columns.map((_, i) => i).filter((i) => (i * 7 + round) % 5 !== 0);
      const shift = round % picked.length;
      const rotated = round % 3 === 0 ? picked : [...picked.slice(shift), ...picked.slice(0, shift)];
      const spelled = rotated.map((i) => {
        const name = (i + round) % 11 === 0 ? `COLUMN_${i}` : `column_${i}`;
        const key =
          (i + round) % 13 === 0 ? `\\u${name.charCodeAt(0).toString(16).padStart(4, "0")}${name.slice(1)}` : name;
        return round % 2 === 0 ? `"${key}":${i}` : ` "${key}" : ${i} `;
      });
      payloads.push(`{${spelled.join(",")}}`);
      rows.push(Object.fromEntries(picked.map((i) => [`f${i + 1}`, String(i)])));
    }
    expect(mapped(columns, payloads)).toEqual(rows.map((row) => ({ row })));
  });

  test("without a column are told apart, however many there are", () => {
    const many = Array.from({ length: 2000 }, (_, i) => `"unknown_${i}":${i}`);
    const distinct = `{${many.join(",")},"column_0":1}`;
    const twice = `{${many.join(",")},"unknown_1999":1}`;
    const early = `{${many.join(",")},"unknown_3":1}`;
    const payloads = [distinct, twice, early, distinct, '{"unknown_5":1,"column_1":2}'];
    expect(mapped(columns, payloads, { dropUnknownFields: true })).toEqual([
      { row: { f1: "1" } },
      { refused: "DUPLICATE_FIELD unknown_1999" },
      { refused: "DUPLICATE_FIELD unknown_3" },
      { row: { f1: "1" } },
      { row: { f2: "2" } },
    ]);
  });

  test("of flexible names are compared without case", () => {
    const fields = [
      { name: "Größe in m²", type: "INT64" },
      { name: "列", type: "STRING" },
    ];
    expect(mapped(fields, ['{"GRÖSSE IN M²":1}', '{"größe in m²":1,"\\u5217":"x"}'])).toEqual([
      { refused: "UNKNOWN_FIELD GRÖSSE IN M²" },
      { row: { f1: "1", f2: "x" } },
    ]);
  });
});

test("absent, null and empty values", () => {
  const payloads = [
    '{"id":1,"name":null,"tags":null,"counts":[],"items":[],"period":{}}',
    '{"id":1,"items":[{"sku":""}]}',
  ];
  expect(mapped(order, payloads)).toEqual([{ row: { f1: "1", f6: {} } }, { row: { f1: "1", f5: [{ f1: "" }] } }]);
});

test("JSON null is kept where the column says so, in arrays too", () => {
  const fields = [
    { name: "j", type: "JSON" },
    { name: "js", type: "JSON", mode: "REPEATED" },
  ];
  const payloads = ['{"j":null,"js":[null,1]}', '{"js":null}'];
  const columns = { J: { jsonNull: "keep" }, js: { jsonNull: "keep" } } as const;
  expect(mapped(fields, payloads, { columns })).toEqual([{ row: { f1: "null", f2: ["null", "1"] } }, { row: {} }]);
  expect(mapped(fields, payloads)).toEqual([{ refused: "NULL_IN_ARRAY js[0]" }, { row: {} }]);
});

test("levels of nesting: a thousand in a payload, those of the table counted", () => {
  const dropped = (levels: number): string =>
    `{"id":1,"items":[{"sku":"a","z":${"[".repeat(levels)}${"]".repeat(levels)}}]}`;
  expect(refusal(dropped(997), { dropUnknownFields: true })).toBe("row");
  expect(refusal(dropped(998), { dropUnknownFields: true })).toBe("MALFORMED_PAYLOAD ");
  const json = (levels: number): string =>
    `{"id":1,"items":[{"sku":"a","doc":${"[".repeat(levels)}${"]".repeat(levels)}}]}`;
  expect(refusal(json(500))).toBe("row");
  expect(refusal(json(501))).toBe(`OUT_OF_RANGE items[0].doc${"[0]".repeat(500)}`);
  expect(refusal(json(999))).toBe("MALFORMED_PAYLOAD ");
});
