/** Values that are not written: dropped fields, and objects that a conversion takes as a whole. Checked as strictly as written ones. */
import type { JsonReader } from "../read/json-reader.ts";
import { JsonValueScan } from "../read/json-value.ts";
import type { KeySet } from "../read/key-set.ts";
import { PayloadFault } from "../read/payload-fault.ts";

export class DroppedValues {
  readonly #scan: JsonValueScan;

  /** @param keys is cleared for every payload by whoever owns it */
  constructor(reader: JsonReader, keys: KeySet) {
    this.#scan = new JsonValueScan(reader, {
      checkDepth: () => {},
      beginObject: () => keys.beginObject(),
      checkKey: (object, start, close) => {
        if (keys.add(object, start, close)) return;
        throw new PayloadFault("DUPLICATE_FIELD", "the field comes twice in one object", start - 1);
      },
      checkNumber: () => {},
    });
  }

  /**
   * Steps over the value that begins at `at`.
   *
   * @param outerDepth levels of the payload around the value
   * @returns the offset behind it
   * @throws PayloadFault
   */
  skip(at: number, outerDepth: number): number {
    return this.#scan.scan(at, outerDepth);
  }
}
