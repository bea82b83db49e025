/** Dead letters as PubsubMessages, and as many of them as one Publish request takes. */
import protobuf from "protobufjs";
import { bytesTag, fieldBytes } from "../lib/wire-format.ts";
import type { Attributes } from "../message.ts";
import type { DeadLetter } from "./dead-letter.ts";
import { earlierLetter } from "./earlier-letter.ts";
import { addedAttributes, type LetterOrigin } from "./letter-attributes.ts";
import { carriedAttributes, letterForms } from "./letter-forms.ts";

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

/** How often a message may come to a dead-letter topic. */
export interface LetterLimits {
  /** A letter of ours that comes back after so many deliveries is not published again. */
  readonly maxDeliveryAttempts: number;
}

/**
 * The letter as a PubsubMessage: data and ordering key as they came, the attributes in one of the forms of letter-forms.ts.
 *
 * @param form    0, or one more than the form that the topic refused
 * @returns "spent" when there is no such form, "circling" when the message came back as a letter too often
 */
export function encodeLetter(
  { batch, message: i, refusal }: DeadLetter,
  { maxDeliveryAttempts, ...origin }: LetterOrigin & LetterLimits,
  form: number,
): EncodedMessage | "spent" | "circling" {
  const message = batch.attributes(i);
  const earlier = earlierLetter(message);
  if (earlier && earlier.deliveryCount >= maxDeliveryAttempts) return "circling";
  const payload = batch.bytes.subarray(batch.dataStart(i), batch.dataEnd(i));
  const key = batch.orderingKey(i);
  const subject = {
    messageId: batch.messageId(i),
    publishTimeMicros: batch.publishTimeMicros(i),
    deliveryAttempt: batch.deliveryAttempt(i),
    earlier,
  };
  const rest = presentBytes(payload.length) + presentBytes(Buffer.byteLength(key));
  const added = addedAttributes(subject, refusal, origin);
  const forms = letterForms(carriedAttributes(message, added, earlier !== undefined), added, maxMessageBytes - rest);
  const chosen = nth(forms, form);
  if (!chosen) return "spent";
  const letter = encodeEnvelope(chosen, key);
  return payload.length === 0 ? [letter] : [fieldHead(data, payload.length), payload, letter];
}

function nth<T>(items: Iterable<T>, n: number): T | undefined {
  for (const item of items) if (n-- === 0) return item;
  return undefined;
}

/** All of a PubsubMessage but its data. */
function encodeEnvelope(all: Attributes, key: string): Buffer {
  const writer = protobuf.Writer.create();
  for (const [name, value] of all) {
    writer.uint32(attributes).fork().uint32(entryKey).string(name).uint32(entryValue).string(value).ldelim();
  }
  if (key !== "") writer.uint32(orderingKey).string(key);
  return finish(writer);
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
