/**
 * The rows of one append request: their bytes as `ProtoRows.serialized_rows` entries one behind the other,
 * where each row begins, and which message it came from.
 */
import { varintWidth } from "../lib/wire-format.ts";
import type { MessageBatch } from "../message.ts";
import { WireWriter } from "./wire-writer.ts";

/** When a batch is full. */
export interface RowBatchLimits {
  /** Enough bytes for a request. */
  readonly maxBytes: number;
  readonly maxRows: number;
  /** More bytes than the rows of a request may ever have. */
  readonly maxRequestBytes: number;
}

/** What became of a row: `stored`; `full`: taken back, it belongs into the next batch; `tooLarge`: no request can carry it. */
export type RowEnd = "stored" | "full" | "tooLarge";

/** Room for the row with which a batch becomes full. */
const spare = 16_384;

/** Tag of `ProtoRows.serialized_rows`, field 1. */
const serializedRowsTag = 10;

export class RowBatch {
  /** Bytes kept free in front of the rows, so that the request's header can be put there without a copy. */
  static readonly headroom = 256;

  readonly writer: WireWriter;
  readonly limits: RowBatchLimits;
  rowCount = 0;
  #starts = new Uint32Array(1024);
  #messages = new Uint32Array(1024);
  #origins: { readonly batch: MessageBatch; readonly firstRow: number }[] = [];
  #lengthWidth = 1;
  /** Bytes of the buffer, as long as no row is unusually large. */
  readonly #capacity: number;

  constructor(limits: RowBatchLimits) {
    this.limits = limits;
    this.#capacity = RowBatch.headroom + limits.maxBytes + spare;
    // The rows before the last are at most as large as a full batch, and the last at most as large as a request.
    this.writer = new WireWriter(this.#capacity, this.#capacity + limits.maxRequestBytes);
    this.clear();
  }

  /** Makes the batch empty again. The buffer is kept, unless an unusual row has made it very large. */
  clear(): void {
    this.writer.position = RowBatch.headroom;
    if (this.writer.bytes.length > this.#capacity * 2) this.writer.resize(this.#capacity);
    this.rowCount = 0;
    this.#origins = [];
  }

  /** Bytes of the rows, tags and lengths included. */
  get byteLength(): number {
    return this.writer.position - RowBatch.headroom;
  }

  /** No further row is taken: the batch has its bytes or its rows. */
  get full(): boolean {
    return this.byteLength >= this.limits.maxBytes || this.rowCount >= this.limits.maxRows;
  }

  /** The rows that follow come from this batch of messages. The one before it is let go if no row came from it. */
  from(batch: MessageBatch): void {
    const last = this.#origins.at(-1);
    if (last && last.batch !== batch && last.firstRow === this.rowCount) this.#origins.pop();
    if (this.#origins.at(-1)?.batch !== batch) this.#origins.push({ batch, firstRow: this.rowCount });
  }

  /** The batches of messages that rows came from, each with its first row. */
  get origins(): readonly { readonly batch: MessageBatch; readonly firstRow: number }[] {
    return this.#origins;
  }

  /** Begins a row; its fields are then written to `writer`. */
  beginRow(): void {
    if (this.rowCount === this.#starts.length) this.#grow();
    const writer = this.writer;
    this.#starts[this.rowCount] = writer.position;
    writer.position = writer.beginField(serializedRowsTag, this.#lengthWidth) + this.#lengthWidth;
  }

  /** Ends the row that `beginRow` began. Unless it is stored, its bytes are taken back. */
  endRow(message: number): RowEnd {
    const start = this.#starts[this.rowCount]!;
    const size = this.#sizeOfRow(start);
    const { maxRequestBytes } = this.limits;
    if (start - RowBatch.headroom + size > maxRequestBytes) {
      this.writer.position = start;
      return size > maxRequestBytes ? "tooLarge" : "full";
    }
    this.#lengthWidth = this.writer.join(start + 1, this.#lengthWidth);
    this.#messages[this.rowCount++] = message;
    return "stored";
  }

  /** Bytes of the row that begins at `start`, tag and length included; the writer may have no room left to write that length. */
  #sizeOfRow(start: number): number {
    const length = this.writer.position - start - 1 - this.#lengthWidth;
    return 1 + varintWidth(length) + length;
  }

  /** Takes the row back that `beginRow` began: its message was refused. */
  takeBack(): void {
    this.writer.position = this.#starts[this.rowCount]!;
  }

  /** Takes rows back, and one that was begun, after an exception: as it was at so many rows and this position of the writer. */
  takeBackTo(rowCount: number, position: number): void {
    this.rowCount = rowCount;
    this.writer.position = position;
  }

  /** Offset in the writer's bytes of the first byte of a row, its tag. */
  rowStart(row: number): number {
    return this.#starts[row]!;
  }

  /** Offset of the first byte of a row's own fields, behind its tag and length. */
  payloadStart(row: number): number {
    let at = this.rowStart(row) + 1;
    while (this.writer.bytes[at]! > 127) at++;
    return at + 1;
  }

  /** Offset behind the last byte of a row. */
  rowEnd(row: number): number {
    return row + 1 < this.rowCount ? this.#starts[row + 1]! : this.writer.position;
  }

  /** Index of the message that a row came from, within its batch of messages. */
  messageOf(row: number): number {
    return this.#messages[row]!;
  }

  #grow(): void {
    this.#starts = doubled(this.#starts);
    this.#messages = doubled(this.#messages);
  }
}

function doubled(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(array.length * 2);
  grown.set(array);
  return grown;
}
