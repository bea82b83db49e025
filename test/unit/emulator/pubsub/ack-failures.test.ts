import { expect, test } from "vitest";
import {
  ackConfirmation,
  ackFailureError,
  deadlineConfirmation,
  type AckFailure,
} from "../../../../src/emulator/pubsub/ack-failures.ts";
import { readAcknowledgeRequest } from "../../../../src/emulator/pubsub/subscriber-requests.ts";
import { pubsubProtos } from "../../../../src/lib/protos.ts";

const type = (name: string) => pubsubProtos().lookupType(`google.pubsub.v1.${name}`);
const bytes = Buffer.from(
  type("AcknowledgeRequest")
    .encode({ subscription: "s", ackIds: ["a-1", "a-2", "a-3", "a-4", "a-5"] })
    .finish(),
);
const ids = { bytes, ranges: readAcknowledgeRequest(bytes).ackIds };
const failures: readonly AckFailure[] = [
  { index: 3, code: "TRANSIENT_FAILURE_UNORDERED_ACK_ID" },
  { index: 0, code: "PERMANENT_FAILURE_INVALID_ACK_ID" },
  { index: 4, code: "TRANSIENT_FAILURE_SERVICE_UNAVAILABLE" },
];

const decoded = (response: Uint8Array): object =>
  type("StreamingPullResponse").toObject(type("StreamingPullResponse").decode(response), { arrays: true });

test("acknowledge_confirmation: each ID in its list", () => {
  expect(decoded(ackConfirmation(ids, failures))).toMatchObject({
    acknowledgeConfirmation: {
      ackIds: ["a-2", "a-3"],
      invalidAckIds: ["a-1"],
      unorderedAckIds: ["a-4"],
      temporaryFailedAckIds: ["a-5"],
    },
  });
});

test("modify_ack_deadline_confirmation: there is no list of its own for what is out of order", () => {
  expect(decoded(deadlineConfirmation(ids, failures))).toMatchObject({
    modifyAckDeadlineConfirmation: {
      ackIds: ["a-2", "a-3"],
      invalidAckIds: ["a-1"],
      temporaryFailedAckIds: ["a-4", "a-5"],
    },
  });
});

test("nothing is confirmed of no IDs", () => {
  expect(ackConfirmation({ bytes, ranges: [] }, [])).toHaveLength(0);
});

test("the error of a unary call names its IDs in google.rpc.ErrorInfo", () => {
  const error = ackFailureError(ids, failures);
  expect(error.code).toBe(3);
  const [details] = error.metadata.get("grpc-status-details-bin") as [Buffer];
  // Written out by hand: the second of the three entries, and what stands before them.
  const entry = "\u001a\u0027\u000a\u0003a-1\u0012\u0020PERMANENT_FAILURE_INVALID_ACK_ID";
  const begin = "\u000a\u001aEXACTLY_ONCE_ACKID_FAILURE\u0012\u0015pubsub.googleapis.com\u001a";
  expect(details.toString("latin1")).toContain("type.googleapis.com/google.rpc.ErrorInfo");
  expect(details.toString("latin1")).toContain(begin);
  expect(details.toString("latin1")).toContain(entry);
  expect(details.toString("latin1")).not.toContain("a-2");
});
