/** Published messages as the service keeps them: serialized once, with id and publish time, handed out as they are. */
import protobuf from "protobufjs";
import { pubsubProtos } from "../../lib/protos.ts";
import type { MessageContent } from "./message-content.ts";

export interface StoredMessage {
  readonly publication: Publication;
  /** Place in the publication. */
  readonly index: number;
  /** The serialized PubsubMessage is `publication.buffer[start, end)`. */
  readonly start: number;
  readonly end: number;
  /** Empty when the message has none. */
  readonly orderingKey: string;
}

/** What the messages of one publish request share. */
export interface Publication {
  readonly buffer: Buffer;
  /** Ids are consecutive numbers; this is the first message's. */
  readonly firstId: number;
  /** Milliseconds since 1970-01-01 UTC. */
  readonly publishTimeMs: number;
}

/** A message in the words of `google.pubsub.v1.PubsubMessage`. */
export interface PubsubMessage {
  readonly data: Buffer;
  readonly attributes: Readonly<Record<string, string>>;
  readonly messageId: string;
  readonly publishTimeMs: number;
  readonly orderingKey: string;
}

/** Bytes that `message_id` takes beside the id itself: tag and length. */
const idOverhead = 2;

/**
 * Completes what a publisher sent. The bytes are copied: the request's buffer is not kept.
 *
 * @param firstId the other messages get the numbers after it
 */
export function storeMessages(
  contents: readonly MessageContent[],
  firstId: number,
  publishTimeMs: number,
): StoredMessage[] {
  const publishTime = publishTimeField(publishTimeMs);
  const idLength = String(firstId + contents.length).length;
  let size = 0;
  for (const content of contents) size += content.byteLength + idOverhead + idLength + publishTime.length;
  const buffer = Buffer.allocUnsafeSlow(size);
  const publication = { buffer, firstId, publishTimeMs };
  let end = 0;
  return contents.map((content, index) => {
    const start = end;
    end = writeContent(content, buffer, start);
    end = writeId(String(firstId + index), buffer, end);
    end += publishTime.copy(buffer, end);
    return { publication, index, start, end, orderingKey: content.orderingKey };
  });
}

/** Decimal text. */
export function messageId({ publication, index }: StoredMessage): string {
  return String(publication.firstId + index);
}

/** Size of the serialized message, id and publish time included. */
export function byteLength(message: StoredMessage): number {
  return message.end - message.start;
}

/** Reads a stored message; for tests and rare paths. */
export function decodeMessage(message: StoredMessage): PubsubMessage {
  const { publication, start, end, orderingKey } = message;
  const type = pubsubProtos().lookupType("google.pubsub.v1.PubsubMessage");
  const decoded = type.decode(publication.buffer.subarray(start, end)) as unknown as {
    readonly data: Buffer;
    readonly attributes: Record<string, string>;
  };
  return {
    data: Buffer.from(decoded.data),
    attributes: { ...decoded.attributes },
    messageId: messageId(message),
    publishTimeMs: publication.publishTimeMs,
    orderingKey,
  };
}

/** For sorting: in order of publication. */
export function inOrder(a: StoredMessage, b: StoredMessage): number {
  return a.publication.firstId + a.index - b.publication.firstId - b.index;
}

/** The attributes alone: `attributes` = 2, entries of key = 1 and value = 2. */
export function readAttributes({ publication, start, end }: StoredMessage): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  const reader = protobuf.Reader.create(publication.buffer.subarray(start, end));
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === 0x12) readEntry(reader, attributes);
    else reader.skipType(tag & 7);
  }
  return attributes;
}

function readEntry(reader: protobuf.Reader, entries: Map<string, string>): void {
  const to = reader.uint32() + reader.pos;
  let key = "";
  let value = "";
  while (reader.pos < to) {
    const tag = reader.uint32();
    if (tag === 0x0a) key = reader.string();
    else if (tag === 0x12) value = reader.string();
    else reader.skipType(tag & 7);
  }
  entries.set(key, value);
}

function writeContent({ bytes, pieces }: MessageContent, buffer: Buffer, at: number): number {
  let end = at;
  for (let i = 0; i < pieces.length; i += 2) end += bytes.copy(buffer, end, pieces[i], pieces[i + 1]);
  return end;
}

/** `message_id` = 3. */
function writeId(id: string, buffer: Buffer, at: number): number {
  buffer[at] = 0x1a;
  buffer[at + 1] = id.length;
  return at + idOverhead + buffer.write(id, at + idOverhead, "latin1");
}

/** `publish_time` = 4: seconds = 1, nanos = 2. */
function publishTimeField(publishTimeMs: number): Buffer {
  const seconds = Math.floor(publishTimeMs / 1000);
  const nanos = Math.round((publishTimeMs - seconds * 1000) * 1e6);
  const writer = protobuf.Writer.create().uint32(0x22).fork().uint32(0x08).int64(seconds).uint32(0x10).int32(nanos);
  return Buffer.from(writer.ldelim().finish());
}
