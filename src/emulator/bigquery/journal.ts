/**
 * The data file: every change of the catalog in the order in which it happened, read back at the start.
 *
 * After a line that names the format come records: length and CRC-32 of the body (4 bytes each, little-endian), then
 * the body: length of its JSON head (4 bytes), the head, and raw bytes (a descriptor or rows). A record that was cut
 * short by the end of a process is left out, and the file is cut back to the last whole one.
 */
import { closeSync, existsSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import { SetupError } from "../../errors.ts";
import { readBytes, unwritable } from "../../lib/read-file.ts";

const formatLine = Buffer.from("millrace embedded BigQuery, format 1\n");

export interface JournalRecord {
  readonly head: object;
  readonly bytes: Buffer;
}

export class Journal {
  readonly #file: number;
  /** Where the next record goes. */
  #end = 0;

  private constructor(file: number) {
    this.#file = file;
  }

  /**
   * Opens or creates the file and hands every record in it to `replay`.
   *
   * @throws SetupError when the file is something else, or cannot be had
   */
  static open(path: string, replay: (record: JournalRecord) => void): Journal {
    const content = existsSync(path) ? readBytes(path) : Buffer.alloc(0);
    if (content.length > 0 && !content.subarray(0, formatLine.length).equals(formatLine)) {
      throw new SetupError(`${path} is no data file of the embedded BigQuery: name another file, or a new one`);
    }
    const end = content.length === 0 ? 0 : replayRecords(content, replay);
    const file = openFile(path, content.length === 0 ? "w" : "r+");
    const journal = new Journal(file);
    ftruncateSync(file, end);
    if (end === 0) writeSync(file, formatLine, 0, formatLine.length, 0);
    journal.#end = Math.max(end, formatLine.length);
    return journal;
  }

  append(head: object, bytes: Buffer = Buffer.alloc(0)): void {
    const json = Buffer.from(JSON.stringify(head));
    const headLength = Buffer.alloc(4);
    headLength.writeUInt32LE(json.length);
    const body = Buffer.concat([headLength, json, bytes]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32LE(body.length);
    frame.writeUInt32LE(crc32(body), 4);
    const record = Buffer.concat([frame, body]);
    this.#write(record);
  }

  /** Takes all records out. */
  clear(): void {
    ftruncateSync(this.#file, formatLine.length);
    this.#end = formatLine.length;
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(record: Buffer): void {
    for (let written = 0; written < record.length;) {
      written += writeSync(this.#file, record, written, record.length - written, this.#end + written);
    }
    this.#end += record.length;
  }
}

function openFile(path: string, flags: "w" | "r+"): number {
  try {
    return openSync(path, flags);
  } catch (error) {
    throw unwritable(path, error);
  }
}

/** Returns where the last whole record ends. */
function replayRecords(content: Buffer, replay: (record: JournalRecord) => void): number {
  let position = formatLine.length;
  while (position + 8 <= content.length) {
    const end = position + 8 + content.readUInt32LE(position);
    const body = content.subarray(position + 8, end);
    if (end > content.length || crc32(body) !== content.readUInt32LE(position + 4)) break;
    const headEnd = 4 + body.readUInt32LE(0);
    replay({ head: JSON.parse(body.toString("utf8", 4, headEnd)) as object, bytes: body.subarray(headEnd) });
    position = end;
  }
  return position;
}
