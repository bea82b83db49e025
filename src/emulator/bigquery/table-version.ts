/** The columns of a table from one change of its schema to the next. */
import { BoundWriters } from "./bound-writer.ts";
import { type Column, sameName } from "./column.ts";

export interface TableVersion {
  /** Counts up from 1 with every change. */
  readonly number: number;
  readonly sinceMs: number;
  readonly columns: readonly Column[];
  /** Which column of the table each is: one that was dropped and added again is another one. */
  readonly ids: readonly number[];
  /** Writer schemas bound to these columns. */
  readonly writers: BoundWriters;
}

/** The versions of one table. */
export class TableVersions {
  readonly #all: TableVersion[] = [];
  #nextId = 1;

  constructor(columns: readonly Column[], sinceMs: number) {
    this.add(columns, sinceMs);
  }

  get latest(): TableVersion {
    return this.#all.at(-1)!;
  }

  /** The version that was the latest then; at times before the table, its first. */
  at(ms: number): TableVersion {
    if (this.latest.sinceMs <= ms) return this.latest;
    return this.#all.findLast(({ sinceMs }) => sinceMs <= ms) ?? this.#all[0]!;
  }

  /** @param number of a version that there was */
  numbered(number: number): TableVersion {
    return this.#all[number - 1]!;
  }

  /** The version whose columns these are: the same array, not one like it. */
  withColumns(columns: readonly Column[]): TableVersion {
    return this.#all.findLast((version) => version.columns === columns)!;
  }

  add(columns: readonly Column[], sinceMs: number): void {
    const before = this.#all.at(-1);
    const ids = columns.map(({ name }) => {
      const known = before?.columns.findIndex((column) => sameName(column.name, name)) ?? -1;
      return before?.ids[known] ?? this.#nextId++;
    });
    this.#all.push({ number: this.#all.length + 1, sinceMs, columns, ids, writers: new BoundWriters(columns) });
  }
}
