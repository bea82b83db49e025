/** Published messages as the service keeps them: serialized once, with id and publish time, handed out as they are. */
import protobuf from "protobufjs";
import { pubsubProtos } from "../../lib/protos.ts";
import type { MessageContent } from "./message-content.ts";

export interface StoredMessage {
  readonly id: string;
  /** Milliseconds since 1970-01-01 UTC. */
  readonly publishTimeMs: number;
  /** Empty when the message has none. */
  readonly orderingKey: string;
  /** The messages of one publish request share a buffer; this one's serialized PubsubMessage is `buffer[start, end)`. */
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
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
 * @param nextId ids are decimal text, at most 100 digits
 */
export function storeMessages(
  contents: readonly MessageContent[],
  nextId: () => string,
  publishTimeMs: number,
): StoredMessage[] {
  const ids = contents.map(() => nextId());
  const publishTime = publishTimeField(publishTimeMs);
  let size = 0;
  for (const [i, content] of contents.entries()) {
    size += content.byteLength + idOverhead + ids[i]!.length + publishTime.length;
  }
  const buffer = Buffer.allocUnsafeSlow(size);
  let end = 0;
  return contents.map((content, i) => {
    const start = end;
    end = writeContent(content, buffer, start);
    end = writeId(ids[i]!, buffer, end);
    end += publishTime.copy(buffer, end);
    return { id: ids[i]!, publishTimeMs, orderingKey: content.orderingKey, buffer, start, end };
  });
}

export function byteLength(message: StoredMessage): number {
  return message.end - message.start;
}

/** Reads a stored message; for tests and rare paths. */
export function decodeMessage(message: StoredMessage): PubsubMessage {
  const type = pubsubProtos().lookupType("google.pubsub.v1.PubsubMessage");
  const decoded = type.decode(message.buffer.subarray(message.start, message.end)) as unknown as {
    readonly data: Buffer;
    readonly attributes: Record<string, string>;
  };
  return {
    data: Buffer.from(decoded.data),
    attributes: { ...decoded.attributes },
    messageId: message.id,
    publishTimeMs: message.publishTimeMs,
    orderingKey: message.orderingKey,
  };
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
