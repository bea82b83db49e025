/** Where the messages lie in a StreamingPullResponse: one walk over its bytes, and per message the few offsets that everybody needs. */
import { bytesTag, varintTag } from "../lib/wire-format.ts";
import { WireCursor } from "./wire-cursor.ts";

/** Offsets kept per message; each names a slot of the row that belongs to the message. */
export const messageStart = 0;
export const messageEnd = 1;
export const dataStart = 2;
export const dataEnd = 3;
export const ackIdStart = 4;
export const ackIdEnd = 5;
export const attempt = 6;
export const slots = 7;

/** StreamingPullResponse */
const receivedMessages = bytesTag(1);
const subscriptionProperties = bytesTag(4);
/** SubscriptionProperties */
const exactlyOnceDeliveryEnabled = varintTag(1);
const messageOrderingEnabled = varintTag(2);
/** ReceivedMessage */
const ackId = bytesTag(1);
const message = bytesTag(2);
const deliveryAttempt = varintTag(3);
/** PubsubMessage */
const data = bytesTag(1);
export const attributes = bytesTag(2);
export const messageId = bytesTag(3);
export const publishTime = bytesTag(4);
export const orderingKey = bytesTag(5);

/** What a subscription promises. */
export interface SubscriptionProperties {
  /** Acks are confirmed, and a message that is held is not delivered again (PULL-01). */
  readonly exactlyOnce: boolean;
  /** Messages of an ordering key are delivered in order (ORDER-01). */
  readonly ordered: boolean;
}

export interface ResponseLayout {
  /** `slots` numbers per message. */
  readonly offsets: Int32Array;
  /** Whether some message has an ordering key. */
  readonly hasOrderingKeys: boolean;
  /** Undefined when the response does not tell. */
  readonly properties: SubscriptionProperties | undefined;
}

/** Grows to the largest response; a batch gets a copy of the part it needs. */
let scratch = new Int32Array(slots * 1024);
/** Whether a message of the response that is being walked has an ordering key. */
let sawOrderingKey = false;

/** @throws MalformedResponse when the bytes are no StreamingPullResponse */
export function layOut(bytes: Buffer): ResponseLayout {
  const cursor = new WireCursor(bytes);
  const end = bytes.length;
  let count = 0;
  let properties: SubscriptionProperties | undefined;
  sawOrderingKey = false;
  while (cursor.position < end) {
    const tag = cursor.varint32(end);
    if (tag === receivedMessages) readReceivedMessage(cursor, cursor.part(end), slots * count++);
    else if (tag === subscriptionProperties) properties = readProperties(cursor, cursor.part(end));
    else cursor.skip(tag, end);
  }
  return { offsets: scratch.slice(0, slots * count), hasOrderingKeys: sawOrderingKey, properties };
}

function readProperties(cursor: WireCursor, end: number): SubscriptionProperties {
  let [exactlyOnce, ordered] = [false, false];
  while (cursor.position < end) {
    const tag = cursor.varint32(end);
    if (tag === exactlyOnceDeliveryEnabled) exactlyOnce = cursor.varint32(end) !== 0;
    else if (tag === messageOrderingEnabled) ordered = cursor.varint32(end) !== 0;
    else cursor.skip(tag, end);
  }
  return { exactlyOnce, ordered };
}

function readReceivedMessage(cursor: WireCursor, end: number, row: number): void {
  if (row + slots > scratch.length) growScratch();
  scratch.fill(0, row, row + slots);
  while (cursor.position < end) {
    const tag = cursor.varint32(end);
    if (tag === ackId) {
      const partEnd = cursor.part(end);
      scratch[row + ackIdStart] = cursor.position;
      scratch[row + ackIdEnd] = partEnd;
      cursor.position = partEnd;
    } else if (tag === message) readMessage(cursor, cursor.part(end), row);
    else if (tag === deliveryAttempt) scratch[row + attempt] = cursor.varint32(end);
    else cursor.skip(tag, end);
  }
}

/** Goes through the whole message, so that what is read lazily later is known to be well formed. */
function readMessage(cursor: WireCursor, end: number, row: number): void {
  scratch[row + messageStart] = cursor.position;
  scratch[row + messageEnd] = end;
  while (cursor.position < end) {
    const tag = cursor.varint32(end);
    if (tag === data) {
      const partEnd = cursor.part(end);
      scratch[row + dataStart] = cursor.position;
      scratch[row + dataEnd] = partEnd;
      cursor.position = partEnd;
    } else if (tag === attributes || tag === publishTime) checkFields(cursor, cursor.part(end));
    else if (tag === orderingKey) {
      const partEnd = cursor.part(end);
      sawOrderingKey ||= partEnd > cursor.position;
      cursor.position = partEnd;
    } else cursor.skip(tag, end);
  }
}

function checkFields(cursor: WireCursor, end: number): void {
  while (cursor.position < end) cursor.skip(cursor.varint32(end), end);
}

function growScratch(): void {
  const grown = new Int32Array(scratch.length * 2);
  grown.set(scratch);
  scratch = grown;
}
