/** Dead letters as PubsubMessages, and as many of them as one Publish request takes. */
import protobuf from "protobufjs";
import { bytesTag, fieldBytes } from "../lib/wire-format.ts";
import type { DeadLetter } from "./dead-letter.ts";
import { addedAttributes, type LetterOrigin, withAdded } from "./letter-attributes.ts";

export const publishPath = "/google.pubsub.v1.Publisher/Publish";

/** The service takes 10 MB a message, and 1,000 messages a request, which may itself have 10 MiB. */
const maxMessageBytes = 10_000_000;
const maxRequestBytes = 10_000_000;
const maxRequestMessages = 1000;

/** PublishRequest */
const topic = bytesTag(1);
const messages = bytesTag(2);
/** PubsubMessage */
const data = bytesTag(1);
const attributes = bytesTag(2);
const orderingKey = bytesTag(5);
/** A map's entry */
const entryKey = bytesTag(1);
const entryValue = bytesTag(2);

/** A message in pieces that follow each other, so that large data is copied once only: into the request. */
export type EncodedMessage = readonly Buffer[];

/**
 * The letter as a PubsubMessage: data, attributes and ordering key as they came, and what is to be told beside them. What
 * is added is left out where it would make the letter too large.
 */
export function encodeLetter({ batch, message: i, refusal }: DeadLetter, origin: LetterOrigin): EncodedMessage {
  const payload = batch.bytes.subarray(batch.dataStart(i), batch.dataEnd(i));
  const key = batch.orderingKey(i);
  const subject = {
    messageId: batch.messageId(i),
    publishTimeMicros: batch.publishTimeMicros(i),
    deliveryAttempt: batch.deliveryAttempt(i),
  };
  const rest = presentBytes(payload.length) + presentBytes(Buffer.byteLength(key));
  const added = addedAttributes(subject, refusal, origin);
  const writer = protobuf.Writer.create();
  for (const [name, value] of withAdded(batch.attributes(i), added, maxMessageBytes - rest)) {
    writer.uint32(attributes).fork().uint32(entryKey).string(name).uint32(entryValue).string(value).ldelim();
  }
  if (key !== "") writer.uint32(orderingKey).string(key);
  const letter = finish(writer);
  return payload.length === 0 ? [letter] : [fieldHead(data, payload.length), payload, letter];
}

/** What comes in front of the content of a length-delimited field. */
function fieldHead(tag: number, length: number): Buffer {
  return finish(protobuf.Writer.create().uint32(tag).uint32(length));
}

/** What was written, where it lies. */
function finish(writer: protobuf.Writer): Buffer {
  const { buffer, byteOffset, byteLength } = writer.finish(true);
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** A field that is left out when it is empty. */
function presentBytes(length: number): number {
  return length === 0 ? 0 : fieldBytes(length);
}

/** A Publish request being filled with encoded messages. */
export class PublishRequest {
  readonly #parts: Buffer[];
  #byteLength: number;
  #messages = 0;

  constructor(topicName: string) {
    const head = finish(protobuf.Writer.create().uint32(topic).string(topicName));
    this.#parts = [head];
    this.#byteLength = head.length;
  }

  get messages(): number {
    return this.#messages;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts, this.#byteLength);
  }

  /** Adds a message. False when the request has no room for it; one that is empty takes any. */
  add(message: EncodedMessage): boolean {
    const length = message.reduce((sum, piece) => sum + piece.length, 0);
    const full = this.#byteLength + fieldBytes(length) > maxRequestBytes || this.#messages >= maxRequestMessages;
    if (full && this.#messages > 0) return false;
    this.#parts.push(fieldHead(messages, length), ...message);
    this.#byteLength += fieldBytes(length);
    this.#messages++;
    return true;
  }
}
