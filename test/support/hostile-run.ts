/** One run of hostile payloads: tables from a seed, payloads in batches, each batch held against the slow path. */
import type { TableSchema } from "../../src/schema/table-schema.ts";
import { Agreement } from "./agreement.ts";
import { chance, choicesOf, times, type Choose } from "./random-choices.ts";
import { randomDocument } from "./random-document.ts";
import { randomOptions, randomTable } from "./random-table.ts";

const tableCount = 60;
const documentsPerTable = 20;
const batchSize = 50;

/** A table with valid documents, and how a hostile payload is made for it. */
export interface Target {
  readonly documents: readonly Buffer[];
  /** Names that the table knows, nested ones too. */
  readonly keys: readonly string[];
}

export interface HostileRun {
  readonly payloads: number;
  readonly rows: number;
  /** The slowest batch, in milliseconds per payload. */
  readonly slowestMs: number;
}

/** Throws at the first payload that the transcoder and the slow path disagree on. */
export function runHostile(seed: number, count: number, make: (choose: Choose, target: Target) => Buffer): HostileRun {
  const choose = choicesOf(seed);
  const targets = times(tableCount, () => targetOf(choose));
  let slowestMs = 0;
  for (let done = 0; done < count; done += batchSize) {
    const target = targets[choose(0, tableCount - 1)]!;
    const payloads = times(Math.min(batchSize, count - done), () => make(choose, target));
    const start = performance.now();
    target.agreement.check(payloads);
    slowestMs = Math.max(slowestMs, (performance.now() - start) / payloads.length);
  }
  return { payloads: count, rows: targets.reduce((sum, target) => sum + target.agreement.rowCount, 0), slowestMs };
}

function targetOf(choose: Choose): Target & { readonly agreement: Agreement } {
  const table = randomTable(choose, chance(choose, 30) ? 40 : 7);
  const options = randomOptions(choose, table);
  const documents = times(documentsPerTable, () => Buffer.from(randomDocument(choose, table, options)));
  return { documents, keys: namesOf(table.columns), agreement: new Agreement(table, options) };
}

function namesOf(columns: TableSchema["columns"]): string[] {
  return columns.flatMap((column) => [column.name, ...namesOf(column.fields)]);
}
