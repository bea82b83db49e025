import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAppendRequest } from "../../../../src/emulator/bigquery/append-request.ts";
import { InvalidValue } from "../../../../src/emulator/bigquery/cell.ts";
import { appendRequest, bytes, descriptor, field, protoData } from "./writer.ts";
import { propertySeed } from "../../../support/property-seed.ts";

test("a request of Google's definition is read part by part", () => {
  const writerSchema = descriptor([field("id", 1, "int64")]);
  const request = appendRequest({
    writeStream: "projects/p/datasets/d/tables/t/streams/_default",
    offset: { value: "5" },
    protoRows: protoData([bytes("0801"), bytes("0802")], writerSchema),
    traceId: "a:b",
    missingValueInterpretations: { note: 1, made: 2 },
    defaultMissingValueInterpretation: 2,
  });
  expect(parseAppendRequest(request)).toEqual({
    byteLength: request.length,
    writeStream: "projects/p/datasets/d/tables/t/streams/_default",
    offset: 5,
    descriptor: writerSchema,
    protoRows: bytes("0a 02 0801 0a 02 0802"),
    hasArrowRows: false,
    missingByColumn: { note: "NULL_VALUE", made: "DEFAULT_VALUE" },
    missingOtherwise: "DEFAULT_VALUE",
  });
});

test("an empty request has nothing", () => {
  expect(parseAppendRequest(Buffer.alloc(0))).toEqual({
    byteLength: 0,
    writeStream: "",
    offset: undefined,
    descriptor: undefined,
    protoRows: undefined,
    hasArrowRows: false,
    missingByColumn: {},
    missingOtherwise: undefined,
  });
});

describe("hostile bytes", () => {
  test("an unspecified interpretation is refused", () => {
    const request = appendRequest({ missingValueInterpretations: { note: 0 } });
    expect(() => parseAppendRequest(request)).toThrow("interpretation is unspecified");
  });

  test(`are a request or refused (PROPERTY_SEED=${propertySeed})`, () => {
    const property = fc.property(fc.uint8Array({ maxLength: 100 }), (raw) => {
      try {
        parseAppendRequest(Buffer.from(raw));
      } catch (error) {
        if (!(error instanceof InvalidValue)) throw error;
      }
    });
    expect(fc.check(property, { seed: propertySeed, numRuns: 5000 })).toMatchObject({ failed: false });
  });
});
