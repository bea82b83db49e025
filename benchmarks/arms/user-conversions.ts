/**
 * What users of protobufjs or of `@google-cloud/bigquery-storage` do to a parsed document before it can be encoded:
 * timestamps to microseconds, dates to days, JSON columns to text. NUMERIC and DATETIME travel as text unchecked.
 */
import type { Column } from "../../src/schema/table-schema.ts";

export type Document = Record<string, unknown>;

type Convert = (value: unknown) => unknown;

/** Changes the values of a document in place. */
export function documentConversion(columns: readonly Column[]): (document: Document) => Document {
  const steps = columns.flatMap((column) => stepOf(column));
  return (document) => {
    for (const { name, convert } of steps) {
      const value = document[name];
      if (value !== undefined && value !== null) document[name] = convert(value);
    }
    return document;
  };
}

function stepOf(column: Column): { name: string; convert: Convert }[] {
  const one = conversionOf(column);
  if (!one) return [];
  const convert: Convert =
    column.mode === "REPEATED" ? (values) => (values as unknown[]).map((value) => one(value)) : one;
  return [{ name: column.name, convert }];
}

function conversionOf(column: Column): Convert | undefined {
  switch (column.type) {
    case "TIMESTAMP":
      return (value) => microsOf(String(value));
    case "DATE":
      return (value) => Date.parse(String(value)) / 86_400_000;
    case "JSON":
      return (value) => JSON.stringify(value);
    case "STRUCT": {
      const convert = documentConversion(column.fields);
      return (value) => convert(value as Document);
    }
    default:
      return undefined;
  }
}

/** `Date` keeps milliseconds: the other three digits are read from the text. */
function microsOf(text: string): number {
  const point = text.indexOf(".");
  return Date.parse(text) * 1000 + (point < 0 ? 0 : Number(text.slice(point + 4, point + 7)));
}
