/**
 * Rows that BigQuery has taken, one of each kind, kept to be shown in a trial: where another row is refused, they tell
 * whether it is that row or the table.
 */
import type { Clock } from "../lib/clock.ts";
import type { Transcoder } from "../transcode/transcoder.ts";
import { RowBatch } from "../write/row-batch.ts";
import { AppendRequest } from "./append-request.ts";
import { PendingRows } from "./pending-rows.ts";

interface Witness {
  readonly request: AppendRequest;
  /** When it was stored; monotonic milliseconds. */
  readonly sinceMs: number;
}

/** A row is kept no longer, when there are others. */
const freshMs = 10_000;

/** Larger rows are not kept. */
const maxBytes = 65_536;

export class Witnesses {
  readonly #clock: Clock;
  readonly #witnesses = new WeakMap<Transcoder, Witness>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** BigQuery has stored the rows of a request, whose bytes are still there. */
  note(request: AppendRequest): void {
    const { rows, transcoder } = request.pending;
    const sinceMs = this.#clock.monotonic();
    if (sinceMs - (this.#witnesses.get(transcoder)?.sinceMs ?? -Infinity) < freshMs) return;
    const row = request.row(0);
    if (rows.rowEnd(row) - rows.rowStart(row) > maxBytes) return;
    const copy = new PendingRows(copyOf(rows, row), transcoder, () => undefined);
    this.#witnesses.set(transcoder, { request: new AppendRequest(copy, 0, 0, [0]), sinceMs });
  }

  /** A row of this kind, as a request that can be sent without an effect on the batch that it came from. */
  of(transcoder: Transcoder): AppendRequest | undefined {
    return this.#witnesses.get(transcoder)?.request;
  }
}

/** A batch with one row, the same as a row of another. */
function copyOf(rows: RowBatch, row: number): RowBatch {
  const end = rows.rowEnd(row);
  const size = end - rows.rowStart(row);
  const copy = new RowBatch({ maxBytes: size, maxRows: 1, maxRequestBytes: size });
  copy.beginRow();
  copy.writer.position += rows.writer.bytes.copy(copy.writer.bytes, copy.writer.position, rows.payloadStart(row), end);
  copy.endRow(0);
  return copy;
}
