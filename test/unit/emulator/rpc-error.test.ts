import { expect, test } from "vitest";
import { asRpcError, RpcError } from "../../../src/emulator/rpc-error.ts";
import { storageProtos } from "../../../src/lib/protos.ts";

test("details travel packed in the trailer where Google's clients look for them", () => {
  const value = Buffer.from([1, 2, 3]);
  const error = new RpcError("INVALID_ARGUMENT", "no good", [{ type: "google.rpc.ErrorInfo", value }]);
  expect(error).toMatchObject({ code: 3, details: "no good" });
  const type = storageProtos().lookupType("google.rpc.Status");
  const [packed] = error.metadata.get("grpc-status-details-bin");
  expect(type.toObject(type.decode(packed as Buffer))).toEqual({
    code: 3,
    message: "no good",
    details: [{ type_url: "type.googleapis.com/google.rpc.ErrorInfo", value }],
  });
});

test("without details there is no trailer", () => {
  expect(new RpcError("NOT_FOUND", "gone").metadata.get("grpc-status-details-bin")).toEqual([]);
});

test("an RpcError goes as it is, anything else as INTERNAL with its message", () => {
  const error = new RpcError("ABORTED", "again");
  expect(asRpcError(error)).toBe(error);
  expect(asRpcError(new RangeError("out of it"))).toMatchObject({ code: 13, details: "out of it" });
  expect(asRpcError("text")).toMatchObject({ code: 13, details: "text" });
});
