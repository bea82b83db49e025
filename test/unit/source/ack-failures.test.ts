import { Metadata } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { ackFailuresOf } from "../../../src/source/ack-failures.ts";
import { encodeStatusPart as encode } from "../../support/ack-failure.ts";

const permanent = "PERMANENT_FAILURE_INVALID_ACK_ID";
const unordered = "TRANSIENT_FAILURE_UNORDERED_ACK_ID";
const transient = "TRANSIENT_FAILURE_OTHER";

interface Info {
  readonly reason?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

function errorInfo({ reason = "EXACTLY_ONCE_ACKID_FAILURE", metadata = {} }: Info): object {
  const value = encode("ErrorInfo", { reason, domain: "pubsub.googleapis.com", metadata });
  return { typeUrl: "type.googleapis.com/google.rpc.ErrorInfo", value };
}

function errorWith(...statuses: Buffer[]): Error {
  const metadata = new Metadata();
  for (const status of statuses) metadata.add("grpc-status-details-bin", status);
  return Object.assign(new Error("failed"), { metadata });
}

const failuresIn = (...details: object[]): unknown =>
  ackFailuresOf(errorWith(encode("Status", { code: 3, message: "Some ids were invalid", details })));

describe("what is told of single ids", () => {
  test("is permanent, out of order or transient by its code", () => {
    const metadata = { a: permanent, b: unordered, c: "TRANSIENT_FAILURE_OF_ANY_NAME", d: "PERMANENT_FAILURE_NEW" };
    expect(failuresIn(errorInfo({ metadata }))).toEqual(
      new Map([
        ["a", "permanent"],
        ["b", "unordered"],
        ["c", "transient"],
        ["d", "permanent"],
      ]),
    );
  });

  test("is found among other details, and over several of them", () => {
    const other = { typeUrl: "type.googleapis.com/google.rpc.RetryInfo", value: Buffer.from([0x0a, 0x02, 0x08, 0x05]) };
    const infos = [errorInfo({ metadata: { a: permanent } }), errorInfo({ metadata: { b: transient } })];
    expect(failuresIn(other, ...infos)).toEqual(
      new Map([
        ["a", "permanent"],
        ["b", "transient"],
      ]),
    );
  });

  test("may be of ids that are longer than a byte can count", () => {
    const id = "x".repeat(200);
    expect(failuresIn(errorInfo({ metadata: { [id]: transient } }))).toEqual(new Map([[id, "transient"]]));
  });
});

describe("an error is about the whole request", () => {
  test.each([
    ["without details", new Error("failed")],
    ["with metadata that has none", errorWith()],
    ["with details that are cut", errorWith(encode("Status", { details: [errorInfo({})] }).subarray(0, -3))],
    ["that is no error", "failed"],
  ])("%s", (_, error) => {
    expect(ackFailuresOf(error)).toBeUndefined();
  });

  test("for another reason", () => {
    const metadata = { service: "pubsub.googleapis.com" };
    expect(failuresIn(errorInfo({ reason: "RATE_LIMIT_EXCEEDED", metadata }))).toBeUndefined();
  });

  test("when it names no id: else all of them would count as taken", () => {
    expect(failuresIn(errorInfo({}))).toBeUndefined();
  });
});
