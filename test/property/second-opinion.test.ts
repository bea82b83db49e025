/**
 * Any document against any table: the embedded BigQuery takes every row that the transcoder writes, and reads out of
 * it what `map` prints. PROPERTY_SEED replays a run, PROPERTY_RUNS makes it longer.
 */
import { check, gen, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { bindColumns } from "../../src/emulator/bigquery/column-binding.ts";
import { parseColumns } from "../../src/emulator/bigquery/column-parser.ts";
import type { Column as EmulatedColumn } from "../../src/emulator/bigquery/column.ts";
import { defaultTaker, type MissingValues } from "../../src/emulator/bigquery/missing-values.ts";
import { plainRow } from "../../src/emulator/bigquery/plain-rows.ts";
import { missingBy, RowDecoder } from "../../src/emulator/bigquery/row-decoder.ts";
import { RowValidator } from "../../src/emulator/bigquery/row-validator.ts";
import { parseWriterDescriptor } from "../../src/emulator/bigquery/writer-descriptor.ts";
import type { MappingOptions } from "../../src/mapping/mapping-plan.ts";
import type { Column, TableSchema } from "../../src/schema/table-schema.ts";
import { rowJson } from "../../src/transcode/row-view.ts";
import { createTranscoder } from "../../src/transcode/transcoder.ts";
import { RowBatch } from "../../src/write/row-batch.ts";
import { PayloadBatch } from "../support/payload-batch.ts";
import { times } from "../support/random-choices.ts";
import { randomDocument } from "../support/random-document.ts";
import { randomOptions, randomTable } from "../support/random-table.ts";
import { propertySeed } from "../support/property-seed.ts";

const runs = Math.ceil(Number(process.env["PROPERTY_RUNS"] ?? 10_000) / 10);
const documentsPerTable = 3;
const context = { atMicros: 0n, seed: "" };

/** The embedded BigQuery's view of the rows of one table. */
class SecondOpinion {
  readonly #columns: readonly EmulatedColumn[];
  readonly #decoder: RowDecoder;
  readonly #validator: RowValidator;
  readonly #takesDefault: (position: number) => boolean;

  constructor(table: TableSchema, descriptor: Buffer, missingValues: MappingOptions["missingValues"]) {
    this.#columns = parseColumns(table.columns.map(restField));
    const binding = bindColumns(parseWriterDescriptor(descriptor), this.#columns, "stream");
    const missing: MissingValues = {
      otherwise: missingValues === "default" ? "DEFAULT_VALUE" : "NULL_VALUE",
      byColumn: {},
    };
    this.#takesDefault = defaultTaker(binding, missing);
    this.#decoder = new RowDecoder(binding);
    this.#validator = new RowValidator(binding, this.#takesDefault);
  }

  problemOf(row: Buffer): string | undefined {
    return this.#validator.problemOf(row, 0, row.length);
  }

  /** The row as JSON; columns that took their default are left out where `like` leaves them out. */
  read(row: Buffer, like: Readonly<Record<string, unknown>>): string {
    const cells = this.#decoder.decode(row, 0, missingBy(this.#takesDefault, context));
    const entries = Object.entries(plainRow(this.#columns, cells));
    return JSON.stringify(
      Object.fromEntries(entries.filter(([name, value]) => Object.hasOwn(like, name) || value !== null)),
    );
  }
}

/** A column as REST writes it. */
function restField(column: Column): object {
  const { fields, rangeElementType, hasDefault, mode, ...rest } = column;
  return {
    ...rest,
    mode,
    ...(fields.length > 0 ? { fields: fields.map(restField) } : {}),
    ...(rangeElementType ? { rangeElementType: { type: rangeElementType } } : {}),
    ...(hasDefault && mode !== "REPEATED" ? { defaultValueExpression: "NULL" } : {}),
  };
}

/** How many documents became rows. Throws where the two disagree. */
function compare(table: TableSchema, options: MappingOptions, documents: readonly Buffer[]): number {
  const transcoder = createTranscoder(table, options);
  const opinion = new SecondOpinion(table, transcoder.descriptor.bytes, options.missingValues);
  const rows = new RowBatch({ maxBytes: 1_000_000, maxRows: 1000, maxRequestBytes: 9_437_184 });
  transcoder.transcode(new PayloadBatch(documents), 0, documents.length, rows);
  for (let row = 0; row < rows.rowCount; row++) {
    const bytes = Buffer.from(rows.writer.bytes.subarray(rows.payloadStart(row), rows.rowEnd(row)));
    const where = `${documents[rows.messageOf(row)]?.toString()} against ${JSON.stringify(table.columns)}`;
    const problem = opinion.problemOf(bytes);
    if (problem !== undefined) throw new Error(`Refused: ${problem}: ${where}`);
    const printed = JSON.parse(rowJson(table, options.missingValues, bytes, 0, bytes.length)) as Record<
      string,
      unknown
    >;
    const read = opinion.read(bytes, printed);
    if (read !== JSON.stringify(printed)) throw new Error(`Read ${read}, printed ${JSON.stringify(printed)}: ${where}`);
  }
  return rows.rowCount;
}

test(
  `the embedded BigQuery reads what the transcoder wrote, ${runs} runs, PROPERTY_SEED=${propertySeed}`,
  { timeout: 600_000 },
  () => {
    let rows = 0;
    const anyChoices = property(gen(), (draw) => {
      const choose = (min: number, max: number): number => draw(integer, { min, max });
      const table = randomTable(choose);
      const options = randomOptions(choose, table);
      rows += compare(
        table,
        options,
        times(documentsPerTable, () => Buffer.from(randomDocument(choose, table, options))),
      );
    });
    const { failed, numRuns, errorInstance } = check(anyChoices, { seed: propertySeed, numRuns: runs });
    if (failed) throw new Error(`run ${numRuns} fails, PROPERTY_SEED=${propertySeed}: ${String(errorInstance)}`);
    expect(rows / (runs * documentsPerTable)).toBeGreaterThan(0.4);
  },
);
