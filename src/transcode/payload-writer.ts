import type { Refusal } from "../errors.ts";
import type { WireWriter } from "../write/wire-writer.ts";

/** Writes the part of a row that comes from the payload. One for each way in which payloads become rows. */
export interface PayloadWriter {
  /** The payloads that follow lie in `bytes`. */
  open(bytes: Buffer): void;
  /**
   * Writes the payload `[start, end)`. When it is refused, what was written is no row.
   *
   * @throws RowOverflow when the writer has not the room for the row
   */
  write(start: number, end: number, out: WireWriter): Refusal | undefined;
}

/** The refusal of a message whose row no request can carry. */
export const rowTooLarge: Refusal = {
  code: "ROW_TOO_LARGE",
  path: "",
  message: "the row is larger than a whole append request may be",
  stage: "transcode",
};
