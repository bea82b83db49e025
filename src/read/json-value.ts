/** One whole JSON value of any kind, stepped over and checked. */
import * as ascii from "./ascii.ts";
import { maxPayloadDepth, type JsonReader } from "./json-reader.ts";
import { PayloadFault } from "./payload-fault.ts";

/** Bound here, since the engine folds a module's own constants, and not those that it imports. */
const { closeBrace, closeBracket, comma, letterF, letterN, letterT, minus, openBrace, openBracket, quote, zero } =
  ascii;

/** What a value must keep to beyond JSON's grammar. Each method throws a PayloadFault when it does not. */
export interface ValueRules {
  /** An object or array at `at` begins the level `depth`, 1 for the outermost of the value. */
  checkDepth(depth: number, at: number): void;
  /** An object begins. Returns the number, above 0, by which `checkKey` is told of it. */
  beginObject(): number;
  /** The reader has just scanned a key, `[start, close)`. */
  checkKey(object: number, start: number, close: number): void;
  checkNumber(start: number, end: number): void;
}

const noRules: ValueRules = {
  checkDepth: () => {},
  beginObject: () => 1,
  checkKey: () => {},
  checkNumber: () => {},
};

/** Room for the levels of any value but a hostile one. */
const initialLevels = 1024;

/** Stands in place of an object's number while the innermost level is an array. */
const inArray = 0;

export class JsonValueScan {
  readonly #reader: JsonReader;
  readonly #rules: ValueRules;
  readonly #maxDepth: number;
  /** Per level the number of its object, or `inArray`. */
  #levels = new Int32Array(initialLevels);

  /** @param maxDepth levels that a payload may have; one that has more is malformed */
  constructor(reader: JsonReader, rules: ValueRules = noRules, maxDepth = maxPayloadDepth) {
    this.#reader = reader;
    this.#rules = rules;
    this.#maxDepth = maxDepth;
  }

  /**
   * Checks the value that begins at `at`.
   *
   * @param outerDepth levels of the payload around the value
   * @returns the offset behind the value
   * @throws PayloadFault
   */
  scan(at: number, outerDepth: number): number {
    const reader = this.#reader;
    let levels = this.#levels;
    let depth = 0;
    for (;;) {
      const character = reader.peek(at);
      if (character === openBrace || character === openBracket) {
        depth++;
        this.#checkDepth(depth, outerDepth, at);
        if (depth === levels.length) levels = this.#moreLevels();
        const object = character === openBrace ? this.#rules.beginObject() : inArray;
        levels[depth] = object;
        at = reader.skipBlanks(at + 1);
        if (reader.peek(at) !== closingOf(object)) {
          if (object !== inArray) at = this.#key(object, at);
          continue;
        }
        depth--;
        at++;
      } else {
        at = this.#scalar(at, character);
      }
      // The value ends at `at`: what follows in the levels around it?
      for (;;) {
        if (depth === 0) return at;
        at = reader.skipBlanks(at);
        const object = levels[depth]!;
        const next = reader.peek(at);
        if (next === comma) {
          at = reader.skipBlanks(at + 1);
          if (object !== inArray) at = this.#key(object, at);
          break;
        }
        if (next !== closingOf(object)) reader.fail(at, "a comma or the end of the object or array");
        depth--;
        at++;
      }
    }
  }

  #checkDepth(depth: number, outerDepth: number, at: number): void {
    this.#rules.checkDepth(depth, at);
    if (depth + outerDepth <= this.#maxDepth) return;
    throw new PayloadFault("MALFORMED_PAYLOAD", `the payload nests deeper than ${this.#maxDepth} levels`, at);
  }

  #moreLevels(): Int32Array<ArrayBuffer> {
    const more = new Int32Array(this.#levels.length * 4);
    more.set(this.#levels);
    return (this.#levels = more);
  }

  /** A key and its colon. Returns the offset of the value. */
  #key(object: number, at: number): number {
    const reader = this.#reader;
    if (reader.peek(at) !== quote) reader.fail(at, "a key in quotes");
    const close = reader.scanKey(at + 1);
    this.#rules.checkKey(object, at + 1, close);
    return reader.skipColon(close + 1);
  }

  #scalar(at: number, character: number): number {
    const reader = this.#reader;
    if (character === quote) {
      const close = reader.scanText(at + 1);
      if (reader.escaped) reader.checkEscapes(at + 1, close);
      return close + 1;
    }
    if (character === minus || (character - zero) >>> 0 < 10) {
      const end = reader.scanNumber(at);
      this.#rules.checkNumber(at, end);
      return end;
    }
    if (character === letterT || character === letterF) return reader.scanBoolean(at);
    if (character === letterN) return reader.scanNull(at);
    return reader.fail(at, "a value");
  }
}

function closingOf(object: number): number {
  return object === inArray ? closeBracket : closeBrace;
}
