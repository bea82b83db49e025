import { Metadata, status } from "@grpc/grpc-js";
import protobuf from "protobufjs";

/** The public definitions, encoded by protobufjs. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message Any { string type_url = 1; bytes value = 2; }
  message ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }
`);

export function encodeStatusPart(type: "Status" | "Any" | "ErrorInfo", value: object): Buffer {
  const message = root.lookupType(type);
  return Buffer.from(message.encode(message.fromObject(value)).finish());
}

/** What a call fails with on an exactly-once subscription. @param codes code by ack id */
export function ackFailure(codes: Readonly<Record<string, string>>): Error {
  const reason = "EXACTLY_ONCE_ACKID_FAILURE";
  const value = encodeStatusPart("ErrorInfo", { reason, domain: "pubsub.googleapis.com", metadata: codes });
  const details = [{ typeUrl: "type.googleapis.com/google.rpc.ErrorInfo", value }];
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", encodeStatusPart("Status", { code: 3, message: "Some ids", details }));
  return Object.assign(new Error("3 INVALID_ARGUMENT: Some ids"), {
    code: status.INVALID_ARGUMENT,
    details: "Some acknowledgement ids in the request were invalid.",
    metadata,
  });
}
