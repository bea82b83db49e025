/** What a publisher sends: requests are walked as bytes, limits are checked, and nothing is decoded that need not be. */
import { isUtf8 } from "node:buffer";
import protobuf from "protobufjs";
import { pubsubProtos } from "../../lib/protos.ts";
import { invalidArgument } from "../rpc-error.ts";

/** One message of a publish request, checked. */
export interface MessageContent {
  readonly bytes: Buffer;
  /** Start and end offsets, in turn, of the fields to keep. */
  readonly pieces: readonly number[];
  /** Length of all pieces together. */
  readonly byteLength: number;
  readonly orderingKey: string;
}

export interface PublishRequest {
  readonly topic: string;
  readonly messages: readonly MessageContent[];
}

const maxMessages = 1000;
const maxRequestBytes = 10 * 1024 * 1024;
/** Data and attributes of one message. */
const maxMessageBytes = 10_000_000;
const maxAttributes = 100;
const maxKeyBytes = 256;
const maxValueBytes = 1024;
const maxOrderingKeyBytes = 1024;

/** Tags of PubsubMessage; `message_id` and `publish_time` are the service's own and are not taken from a publisher. */
const fieldTag = { data: 0x0a, attributes: 0x12, orderingKey: 0x2a } as const;

/** @throws RpcError INVALID_ARGUMENT when a limit is passed, or the request cannot be read */
export function readPublishRequest(bytes: Buffer): PublishRequest {
  if (bytes.length > maxRequestBytes) {
    throw invalidArgument(`The publish request has ${bytes.length} bytes; at most ${maxRequestBytes} are taken`);
  }
  let topic = "";
  const messages: MessageContent[] = [];
  const reader = protobuf.Reader.create(bytes);
  while (reader.pos < bytes.length) {
    const tag = reader.uint32();
    if (tag === 0x0a) topic = reader.string();
    else if (tag === 0x12) messages.push(readMessageContent(reader, bytes, reader.uint32()));
    else reader.skipType(tag & 7);
  }
  if (messages.length === 0) throw invalidArgument("The publish request has no messages");
  if (messages.length > maxMessages) {
    throw invalidArgument(`The publish request has ${messages.length} messages; at most ${maxMessages} are taken`);
  }
  return { topic, messages };
}

/** A message in parts, as nothing but a publisher's fields. */
export interface ContentFields {
  readonly data?: string | Uint8Array;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly orderingKey?: string;
}

let messageType: protobuf.Type | undefined;

/** Content that does not come from a publisher, and is not held to a publisher's limits. Text becomes UTF-8. */
export function encodeContent({ data = "", attributes = {}, orderingKey = "" }: ContentFields): MessageContent {
  messageType ??= pubsubProtos().lookupType("google.pubsub.v1.PubsubMessage");
  const type = messageType;
  const message = type.fromObject({ data: Buffer.from(data as string), attributes, orderingKey });
  const bytes = Buffer.from(type.encode(message).finish());
  return { bytes, pieces: [0, bytes.length], byteLength: bytes.length, orderingKey };
}

/** @param reader stands on the first of `length` bytes, which are a serialized PubsubMessage in `bytes` */
function readMessageContent(reader: protobuf.Reader, bytes: Buffer, length: number): MessageContent {
  const to = reader.pos + length;
  const pieces: number[] = [];
  let orderingKey = "";
  let dataBytes = 0;
  let attributes = 0;
  let attributeBytes = 0;
  while (reader.pos < to) {
    const start = reader.pos;
    const tag = reader.uint32();
    if (tag === fieldTag.data) {
      dataBytes = reader.uint32();
      reader.skip(dataBytes);
    } else if (tag === fieldTag.attributes) {
      attributes++;
      attributeBytes += checkAttribute(reader, bytes);
    } else if (tag === fieldTag.orderingKey) {
      const [from, end] = skipText(reader, bytes, maxOrderingKeyBytes, "An ordering key");
      orderingKey = bytes.toString("utf8", from, end);
    } else {
      reader.skipType(tag & 7);
      continue;
    }
    if (pieces.at(-1) === start) pieces[pieces.length - 1] = reader.pos;
    else pieces.push(start, reader.pos);
  }
  if (reader.pos !== to) throw invalidArgument("A message is cut off");
  if (dataBytes === 0 && attributes === 0) throw invalidArgument("A message needs data or at least one attribute");
  if (attributes > maxAttributes) {
    throw invalidArgument(`A message has ${attributes} attributes; at most ${maxAttributes} are taken`);
  }
  if (dataBytes + attributeBytes > maxMessageBytes) {
    throw invalidArgument(`A message has ${dataBytes + attributeBytes} bytes; at most ${maxMessageBytes} are taken`);
  }
  return { bytes, pieces, byteLength: totalLength(pieces), orderingKey };
}

/** Checks one entry of the attributes (key = 1, value = 2) and returns the bytes of both. */
function checkAttribute(reader: protobuf.Reader, bytes: Buffer): number {
  const to = reader.uint32() + reader.pos;
  let keyBytes = 0;
  let valueBytes = 0;
  while (reader.pos < to) {
    const tag = reader.uint32();
    if (tag === 0x0a) {
      const [from, end] = skipText(reader, bytes, maxKeyBytes, "An attribute key");
      keyBytes = end - from;
    } else if (tag === 0x12) {
      const [from, end] = skipText(reader, bytes, maxValueBytes, "An attribute value");
      valueBytes = end - from;
    } else {
      reader.skipType(tag & 7);
    }
  }
  if (keyBytes === 0) throw invalidArgument("An attribute key is empty");
  return keyBytes + valueBytes;
}

/** Passes over a string and says where it is. */
function skipText(
  reader: protobuf.Reader,
  bytes: Buffer,
  maxBytes: number,
  what: string,
): readonly [from: number, to: number] {
  const length = reader.uint32();
  const from = reader.pos;
  reader.skip(length);
  if (length > maxBytes) throw invalidArgument(`${what} has ${length} bytes; at most ${maxBytes} are taken`);
  if (!isUtf8(bytes.subarray(from, reader.pos))) throw invalidArgument(`${what} is not UTF-8`);
  return [from, reader.pos];
}

function totalLength(pieces: readonly number[]): number {
  let total = 0;
  for (let i = 0; i < pieces.length; i += 2) total += pieces[i + 1]! - pieces[i]!;
  return total;
}
