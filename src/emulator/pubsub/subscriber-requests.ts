/**
 * The busy requests of the Subscriber service, read from their bytes: ack ids stay where they are, as pairs of offsets,
 * instead of becoming a text each.
 */
import protobuf from "protobufjs";

/** Start and end offsets in the request, in turn. */
export type Ranges = readonly number[];

export interface AcknowledgeRequest {
  readonly subscription: string;
  readonly ackIds: Ranges;
}

export interface ModifyAckDeadlineRequest {
  readonly subscription: string;
  readonly ackDeadlineSeconds: number;
  readonly ackIds: Ranges;
}

/** Numbers are 0 and texts empty when the client left them out. */
export interface StreamingPullRequest {
  readonly subscription: string;
  readonly ackIds: Ranges;
  readonly modifyDeadlineAckIds: Ranges;
  readonly modifyDeadlineSeconds: readonly number[];
  readonly streamAckDeadlineSeconds: number;
  readonly maxOutstandingMessages: number;
  readonly maxOutstandingBytes: number;
  readonly protocolVersion: number;
}

/** @throws Error when the bytes are no such message */
export function readAcknowledgeRequest(bytes: Buffer): AcknowledgeRequest {
  let subscription = "";
  const ackIds: number[] = [];
  const reader = protobuf.Reader.create(bytes);
  while (reader.pos < bytes.length) {
    const tag = reader.uint32();
    if (tag === 0x0a) subscription = reader.string();
    else if (tag === 0x12) skipRange(reader, ackIds);
    else reader.skipType(tag & 7);
  }
  return { subscription, ackIds };
}

/** @throws Error when the bytes are no such message */
export function readModifyAckDeadlineRequest(bytes: Buffer): ModifyAckDeadlineRequest {
  let subscription = "";
  let ackDeadlineSeconds = 0;
  const ackIds: number[] = [];
  const reader = protobuf.Reader.create(bytes);
  while (reader.pos < bytes.length) {
    const tag = reader.uint32();
    if (tag === 0x0a) subscription = reader.string();
    else if (tag === 0x18) ackDeadlineSeconds = reader.int32();
    else if (tag === 0x22) skipRange(reader, ackIds);
    else reader.skipType(tag & 7);
  }
  return { subscription, ackDeadlineSeconds, ackIds };
}

/** @throws Error when the bytes are no such message */
export function readStreamingPullRequest(bytes: Buffer): StreamingPullRequest {
  const ackIds: number[] = [];
  const modifyDeadlineAckIds: number[] = [];
  const modifyDeadlineSeconds: number[] = [];
  let subscription = "";
  let streamAckDeadlineSeconds = 0;
  let maxOutstandingMessages = 0;
  let maxOutstandingBytes = 0;
  let protocolVersion = 0;
  const reader = protobuf.Reader.create(bytes);
  while (reader.pos < bytes.length) {
    const tag = reader.uint32();
    if (tag === 0x0a) subscription = reader.string();
    else if (tag === 0x12) skipRange(reader, ackIds);
    else if (tag === 0x18) modifyDeadlineSeconds.push(reader.int32());
    else if (tag === 0x1a) readPacked(reader, modifyDeadlineSeconds);
    else if (tag === 0x22) skipRange(reader, modifyDeadlineAckIds);
    else if (tag === 0x28) streamAckDeadlineSeconds = reader.int32();
    else if (tag === 0x38) maxOutstandingMessages = readInt64(reader);
    else if (tag === 0x40) maxOutstandingBytes = readInt64(reader);
    else if (tag === 0x50) protocolVersion = readInt64(reader);
    else reader.skipType(tag & 7);
  }
  return {
    subscription,
    ackIds,
    modifyDeadlineAckIds,
    modifyDeadlineSeconds,
    streamAckDeadlineSeconds,
    maxOutstandingMessages,
    maxOutstandingBytes,
    protocolVersion,
  };
}

function skipRange(reader: protobuf.Reader, ranges: number[]): void {
  const length = reader.uint32();
  ranges.push(reader.pos, reader.pos + length);
  reader.skip(length);
}

function readPacked(reader: protobuf.Reader, values: number[]): void {
  const to = reader.uint32() + reader.pos;
  while (reader.pos < to) values.push(reader.int32());
}

function readInt64(reader: protobuf.Reader): number {
  const value = reader.int64();
  return typeof value === "number" ? value : value.high * 2 ** 32 + (value.low >>> 0);
}
