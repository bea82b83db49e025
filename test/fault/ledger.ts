/**
 * The book over every message that was published: what it should become, and what it has become.
 *
 * A message is known by the number in its payload, which its row and its letter have too.
 */

/** What should become of a message: a row, or a letter because the transcoder or BigQuery refuses it. */
export type Kind = "good" | "unreadable" | "refused";

export interface Entry {
  readonly number: number;
  readonly kind: Kind;
  /** Empty when the message has none. */
  readonly key: string;
  rows: number;
  /** Tables that it stands in: one that is dropped counts. */
  tables: number;
  letters: number;
  /** How often it was written, but not acked, when a process was killed: so often it may be written once more. */
  cutOff: number;
}

export interface Extra {
  readonly count: number;
  readonly ofKills: number;
}

/** What stands in the payload of a message that BigQuery refuses, and so in its row. */
export const refusedText = "BigQuery refuses this row";

export class Ledger {
  readonly #entries: Entry[] = [];
  /** By their first row, in the order of the table. */
  readonly #firstRows: Entry[] = [];

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** @param more members of the payload */
  publish(kind: Kind, key = "", more: object = {}): { readonly data: string; readonly orderingKey: string } {
    const number = this.#entries.length;
    this.#entries.push({ number, kind, key, rows: 0, tables: 0, letters: 0, cutOff: 0 });
    const name = kind === "refused" ? refusedText : `name ${number}`;
    const data = JSON.stringify({ id: kind === "unreadable" ? `n${number}` : number, name, ...more });
    return { data, orderingKey: key };
  }

  /** Takes the rows of the table, in its order. A table that is dropped is told before. */
  takeRows(ids: readonly number[]): void {
    for (const id of ids) {
      const entry = this.#entry(id);
      if (entry.rows++ === 0) this.#firstRows.push(entry);
    }
    for (const id of new Set(ids)) this.#entry(id).tables++;
  }

  takeLetters(payloads: Iterable<string>): void {
    for (const payload of payloads) this.#entry(numberIn(payload)).letters++;
  }

  /**
   * A process was killed that had written some messages: those of them that are not acked come again.
   *
   * @returns how many these are
   */
  cutOff(written: Iterable<number>, unacked: Iterable<number>): number {
    const leased = new Set(unacked);
    const comeAgain = [...new Set(written)].filter((number) => leased.has(number));
    for (const number of comeAgain) this.#entry(number).cutOff++;
    return comeAgain.length;
  }

  /** Messages that became neither a row nor a letter. */
  get lost(): readonly Entry[] {
    return this.#entries.filter(({ rows, letters }) => rows + letters === 0);
  }

  /** Messages that became what they should not. */
  get misplaced(): readonly Entry[] {
    return this.#entries.filter(({ kind, rows, letters }) => (kind === "good" ? letters > 0 : rows > 0));
  }

  /** Rows beyond the first of each message, and how many of them killed processes explain. */
  get extraRows(): Extra {
    return this.#extra(({ rows }) => rows);
  }

  /** Rows in a table whose messages stand in a dropped one, too. */
  get rowsOfTwoTables(): number {
    return this.#entries.reduce((sum, { tables }) => sum + Math.max(tables - 1, 0), 0);
  }

  /** Letters beyond the first of each message, and how many of them killed processes explain. */
  get extraLetters(): Extra {
    return this.#extra(({ letters }) => letters);
  }

  /** Rows that came, for the first time, before an earlier message of their key did. */
  get disordered(): readonly Entry[] {
    const last = new Map<string, number>();
    return this.#firstRows.filter(({ key, number }) => {
      if (key === "") return false;
      const before = last.get(key) ?? -1;
      last.set(key, Math.max(before, number));
      return number < before;
    });
  }

  #extra(copies: (entry: Entry) => number): Extra {
    let [count, ofKills] = [0, 0];
    for (const entry of this.#entries) {
      const extra = Math.max(copies(entry) - 1, 0);
      count += extra;
      ofKills += Math.min(extra, entry.cutOff);
    }
    return { count, ofKills };
  }

  #entry(number: number): Entry {
    const entry = this.#entries[number];
    if (!entry) throw new Error(`Nothing was published with the number ${number}`);
    return entry;
  }
}

/** The number in a payload that `publish` made. */
export function numberIn(payload: string): number {
  return Number(/^\{"id":"?n?(\d+)/.exec(payload)?.[1]);
}
