import type { Refusal } from "../errors.ts";
import type { WireWriter } from "../write/wire-writer.ts";

/** Writes the part of a row that comes from the payload. One for each way in which payloads become rows. */
export interface PayloadWriter {
  /** The payloads that follow lie in `bytes`. */
  open(bytes: Buffer): void;
  /** Writes the payload `[start, end)`. When it is refused, what was written is no row. */
  write(start: number, end: number, out: WireWriter): Refusal | undefined;
}
