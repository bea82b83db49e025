/** What exactly-once delivery tells of ack IDs that had no effect; the other IDs of the request had theirs. */
import protobuf from "protobufjs";
import { RpcError } from "../rpc-error.ts";

/** Code of `google.rpc.ErrorInfo`: `PERMANENT_FAILURE_…`, or `TRANSIENT_FAILURE_…` when it may be tried again. */
export type AckFailureCode = string;

/** The ID was replaced by a later one, its lease has ended, or it is none. */
export const invalidAckId: AckFailureCode = "PERMANENT_FAILURE_INVALID_ACK_ID";
/** An earlier message of the ordering key is not acked. */
export const unorderedAckId: AckFailureCode = "TRANSIENT_FAILURE_UNORDERED_ACK_ID";

export interface AckFailure {
  /** Place of the ID in the request. */
  readonly index: number;
  readonly code: AckFailureCode;
}

/**
 * Applies what a request says of each ack number, and collects what fails.
 *
 * @param together whether earlier messages go first, however they stand in the request: no ack comes too early for
 *   another of the same request
 */
export function applyEach(
  ackNumbers: readonly number[],
  together: boolean,
  apply: (number: number, i: number) => AckFailureCode | undefined,
): AckFailure[] {
  const failures: AckFailure[] = [];
  for (const index of together ? placesInOrder(ackNumbers) : ackNumbers.keys()) {
    const code = apply(ackNumbers[index]!, index);
    if (code) failures.push({ index, code });
  }
  return failures;
}

function placesInOrder(ackNumbers: readonly number[]): readonly number[] {
  return [...ackNumbers.keys()].sort((a, b) => ackNumbers[a]! - ackNumbers[b]!);
}

/** The ack IDs of a request, as they stand in it. */
export interface SentAckIds {
  readonly bytes: Buffer;
  /** Start and end offsets, in turn. */
  readonly ranges: readonly number[];
}

/** The answer to a unary call of which some IDs failed. */
export function ackFailureError(ids: SentAckIds, failures: readonly AckFailure[]): RpcError {
  const writer = protobuf.Writer.create();
  writer.uint32(0x0a).string("EXACTLY_ONCE_ACKID_FAILURE").uint32(0x12).string("pubsub.googleapis.com");
  for (const { index, code } of failures) {
    writer.uint32(0x1a).fork().uint32(0x0a).bytes(idAt(ids, index)).uint32(0x12).string(code).ldelim();
  }
  return new RpcError("INVALID_ARGUMENT", "Some acknowledgement ids in the request were invalid", [
    { type: "google.rpc.ErrorInfo", value: writer.finish() },
  ]);
}

/** `acknowledge_confirmation` of a StreamingPullResponse, serialized. */
export function ackConfirmation(ids: SentAckIds, failures: readonly AckFailure[]): Uint8Array {
  return confirmation(0x2a, ids, failures, (code) => {
    if (code === unorderedAckId) return 0x1a;
    return isTransient(code) ? 0x22 : 0x12;
  });
}

/** `modify_ack_deadline_confirmation` of a StreamingPullResponse, serialized. */
export function deadlineConfirmation(ids: SentAckIds, failures: readonly AckFailure[]): Uint8Array {
  return confirmation(0x1a, ids, failures, (code) => (isTransient(code) ? 0x1a : 0x12));
}

const nothing = new Uint8Array();

/** @param tagOf the list to which an ID with this failure belongs */
function confirmation(
  tag: number,
  ids: SentAckIds,
  failures: readonly AckFailure[],
  tagOf: (code: AckFailureCode) => number,
): Uint8Array {
  if (ids.ranges.length === 0) return nothing;
  const succeeded = 0x0a;
  const failed = new Map(failures.map(({ index, code }) => [index, tagOf(code)]));
  const writer = protobuf.Writer.create().uint32(tag).fork();
  for (let index = 0; index < ids.ranges.length / 2; index++) {
    writer.uint32(failed.get(index) ?? succeeded).bytes(idAt(ids, index));
  }
  return writer.ldelim().finish();
}

function idAt({ bytes, ranges }: SentAckIds, index: number): Buffer {
  return bytes.subarray(ranges[2 * index], ranges[2 * index + 1]);
}

/** Whether another try may succeed. */
export function isTransient(code: AckFailureCode): boolean {
  return code.startsWith("TRANSIENT_FAILURE_");
}
