/**
 * The data that benchmarks run on: three tables and, for each, distinct messages from a seed, always the same.
 * S is a reading of a sensor (175 bytes, 8 flat columns), M an order (about 920 bytes, nested and repeated columns,
 * NUMERIC and JSON), L an event of web analytics (about 8 KB, 60 columns, some of them absent).
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseTableSchema } from "../src/schema/table-schema.ts";
import type { TableSchema } from "../src/schema/table-schema.ts";
import { orderFields, randomOrder } from "./corpus/orders.ts";
import { pageViewFields, randomPageView } from "./corpus/page-views.ts";
import { Randomness } from "./corpus/randomness.ts";
import { randomReading, readingFields } from "./corpus/readings.ts";

export type Size = "S" | "M" | "L";

export const sizes: readonly Size[] = ["S", "M", "L"];

export const messagesPerCorpus = 20_000;

export interface Corpus {
  readonly table: TableSchema;
  /** JSON documents, all different. */
  readonly payloads: readonly Buffer[];
  /** The same, cut into parts as large as the responses of a busy subscription. */
  readonly parts: readonly (readonly Buffer[])[];
}

/** Payload bytes of a part. */
const partBytes = 2 ** 20;

/** A table as `bq show --schema` prints it, and what makes a message for it. */
interface Recipe {
  readonly fields: readonly object[];
  readonly seed: number;
  readonly message: (randomness: Randomness) => object;
}

const recipes: Readonly<Record<Size, Recipe>> = {
  S: { fields: readingFields, seed: 11, message: randomReading },
  M: { fields: orderFields, seed: 22, message: randomOrder },
  L: { fields: pageViewFields, seed: 33, message: randomPageView },
};

/** Makes the messages of a corpus and writes them to a file, one a line: every arm's process reads the same. */
export function writeCorpus(size: Size, file: string): void {
  const { seed, message } = recipes[size];
  const randomness = new Randomness(seed);
  const lines = Array.from({ length: messagesPerCorpus }, () =>
    Buffer.from(`${JSON.stringify(message(randomness))}\n`),
  );
  writeFileSync(file, Buffer.concat(lines));
}

export function readCorpus(size: Size, file: string): Corpus {
  const payloads = linesOf(readFileSync(file));
  return { table: parseTableSchema(recipes[size].fields), payloads, parts: cut(payloads) };
}

function linesOf(text: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0, end = text.indexOf(10); end >= 0; start = end + 1, end = text.indexOf(10, start)) {
    lines.push(text.subarray(start, end));
  }
  return lines;
}

function cut(payloads: readonly Buffer[]): readonly (readonly Buffer[])[] {
  const parts: Buffer[][] = [];
  let room = 0;
  for (const payload of payloads) {
    if (room <= 0) {
      parts.push([]);
      room = partBytes;
    }
    parts.at(-1)!.push(payload);
    room -= payload.length;
  }
  return parts;
}
