import { describe, expect, test } from "vitest";
import { readRpcStatus } from "../../../src/lib/rpc-status.ts";
import { encodeStatusPart as encode } from "../../support/ack-failure.ts";

/** Field 1: varint 3; field 2: "no"; field 3: an Any of the type `a.b/c.D` and the value 0x08 0x05. */
const vector = Buffer.from("080312026e6f1a0d0a07612e622f632e4412020805", "hex");

test("a status by hand", () => {
  const { code, message, details } = readRpcStatus(vector);
  expect({ code, message }).toEqual({ code: 3, message: "no" });
  expect(details.map(({ type, value }) => [type, [...value]])).toEqual([["c.D", [8, 5]]]);
});

describe("a status as protobufjs writes it", () => {
  test("has its details in order, by the names of their types", () => {
    const details = [
      { typeUrl: "type.googleapis.com/google.rpc.ErrorInfo", value: Buffer.from([1, 2]) },
      { typeUrl: "google.rpc.RetryInfo", value: Buffer.alloc(0) },
      { value: Buffer.from([3]) },
    ];
    const status = readRpcStatus(encode("Status", { code: 14, message: "später", details }));
    expect([status.code, status.message]).toEqual([14, "später"]);
    expect(status.details.map(({ type, value }) => [type, [...value]])).toEqual([
      ["google.rpc.ErrorInfo", [1, 2]],
      ["google.rpc.RetryInfo", []],
      ["", [3]],
    ]);
  });

  test("may be empty, and have fields that are not known", () => {
    expect(readRpcStatus(Buffer.alloc(0))).toEqual({ code: 0, message: "", details: [] });
    const unknown = Buffer.from([0x7a, 1, 65, 0x78, 5]);
    expect(readRpcStatus(Buffer.concat([unknown, vector, unknown])).code).toBe(3);
  });
});

test.each([
  ["cut", vector.subarray(0, -1)],
  ["of another kind", Buffer.from("no status at all")],
])("bytes that are %s are refused", (_, bytes) => {
  expect(() => readRpcStatus(bytes)).toThrow(Error);
});
