/** Rows of a write stream that are not in its table yet: pending ones, or buffered ones that wait for a flush. */
import { visitRows } from "./proto-rows.ts";
import type { RowBatch } from "./stored-table.ts";

export class HeldRows {
  #batches: RowBatch[] = [];

  add(batch: RowBatch): void {
    this.#batches.push(batch);
  }

  /** Takes out the first rows. @param count of them, at most as many as there are */
  take(count: number): readonly RowBatch[] {
    const taken: RowBatch[] = [];
    let missing = count;
    let whole = 0;
    for (const batch of this.#batches) {
      if (missing < batch.count) break;
      missing -= batch.count;
      whole++;
    }
    taken.push(...this.#batches.splice(0, whole));
    const cut = this.#batches[0];
    if (missing === 0 || !cut) return taken;
    const [head, tail] = split(cut, missing);
    this.#batches[0] = tail;
    return [...taken, head];
  }

  clear(): void {
    this.#batches = [];
  }
}

/** Both parts have their bytes in common; rows keep the positions in their request, by which their defaults go. */
function split(batch: RowBatch, count: number): readonly [head: RowBatch, tail: RowBatch] {
  const { protoRows } = batch;
  let row = 0;
  let at = 0;
  visitRows(protoRows, (_start, end) => {
    if (++row === count) at = end;
  });
  return [
    { ...batch, protoRows: protoRows.subarray(0, at), count },
    {
      ...batch,
      protoRows: protoRows.subarray(at),
      count: batch.count - count,
      firstRow: batch.firstRow + count,
    },
  ];
}
