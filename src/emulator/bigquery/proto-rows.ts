/** `ProtoRows` of the Storage Write API as bytes: rows one after another, each behind its tag and length. */
import { lengthWire, WireReader } from "./wire-reader.ts";

const rowTag = (1 << 3) | lengthWire;

/** Calls `visit` with the place of each row. @throws InvalidValue when the bytes are no ProtoRows */
export function visitRows(protoRows: Buffer, visit: (start: number, end: number) => void): void {
  const reader = new WireReader(protoRows);
  while (!reader.done) {
    const tag = reader.tag();
    if (tag !== rowTag) {
      reader.skip(tag & 7);
      continue;
    }
    const start = reader.lengthDelimited();
    visit(start, reader.position);
  }
}
