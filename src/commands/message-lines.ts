/** The input of `map`: lines, each one message, gathered into batches. */
import { isUtf8 } from "node:buffer";
import { SetupError } from "../errors.ts";
import type { Attributes, MessageBatch } from "../message.ts";
import { linesOf } from "./lines.ts";
import { parsePubsubMessage } from "./pubsub-message.ts";

/** A message as a line gives it. */
export interface LineMessage {
  readonly data: Buffer;
  readonly messageId: string;
  readonly publishTimeMicros: bigint;
  readonly attributes: Attributes;
  readonly orderingKey: string;
}

const maxBatchMessages = 500;
const maxBatchBytes = 1024 * 1024;

/**
 * @param name what the input is called in an error message
 * @param raw  each line is itself a payload
 * @throws SetupError for a line that is no PubsubMessage
 */
export async function* messageBatches(
  chunks: AsyncIterable<Buffer>,
  name: string,
  raw: boolean,
): AsyncGenerator<LineBatch> {
  let messages: LineMessage[] = [];
  let bytes = 0;
  let number = 0;
  for await (const line of linesOf(chunks)) {
    number++;
    const message = raw ? payloadOf(line, number) : readLine(line, number, name);
    messages.push(message);
    bytes += message.data.length;
    if (messages.length >= maxBatchMessages || bytes >= maxBatchBytes) {
      yield new LineBatch(messages);
      messages = [];
      bytes = 0;
    }
  }
  if (messages.length > 0) yield new LineBatch(messages);
}

const noAttributes: Attributes = new Map();

function payloadOf(line: Buffer, number: number): LineMessage {
  return {
    data: line,
    messageId: String(number),
    publishTimeMicros: BigInt(Date.now()) * 1000n,
    attributes: noAttributes,
    orderingKey: "",
  };
}

function readLine(line: Buffer, number: number, name: string): LineMessage {
  const message = isUtf8(line) ? parsePubsubMessage(line.toString("utf8"), String(number)) : "it is not valid UTF-8";
  if (typeof message !== "string") return message;
  throw new SetupError(
    `${name}, line ${number} is no PubsubMessage: ${message} (with --raw each line is itself a payload)`,
  );
}

/** Messages of several lines, their payloads one behind the other. */
export class LineBatch implements MessageBatch {
  readonly bytes: Buffer;
  readonly #messages: readonly LineMessage[];
  readonly #starts: readonly number[];

  constructor(messages: readonly LineMessage[]) {
    this.#messages = messages;
    this.bytes = Buffer.concat(messages.map(({ data }) => data));
    let end = 0;
    this.#starts = [0, ...messages.map(({ data }) => (end += data.length))];
  }

  get length(): number {
    return this.#messages.length;
  }

  get byteLength(): number {
    return this.bytes.length;
  }

  get hasOrderingKeys(): boolean {
    return this.#messages.some(({ orderingKey }) => orderingKey !== "");
  }

  dataStart(i: number): number {
    return this.#starts[i]!;
  }

  dataEnd(i: number): number {
    return this.#starts[i + 1]!;
  }

  messageId(i: number): string {
    return this.#messages[i]!.messageId;
  }

  publishTimeMicros(i: number): bigint {
    return this.#messages[i]!.publishTimeMicros;
  }

  attributes(i: number): Attributes {
    return this.#messages[i]!.attributes;
  }

  orderingKey(i: number): string {
    return this.#messages[i]!.orderingKey;
  }

  deliveryAttempt(): number {
    return 0;
  }
}
