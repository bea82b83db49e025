/**
 * A strict walk over JSON text (RFC 8259) in a buffer, token by token. Every method takes the offset where its token begins
 * and gives back the offset behind it; none looks beyond `end`, where the payload ends. What breaks the grammar, is no
 * UTF-8 or has half a surrogate pair is thrown as a PayloadFault with the code MALFORMED_PAYLOAD.
 */
import * as ascii from "./ascii.ts";
import { firstBadEscape, unescape } from "./json-text.ts";
import { scanNumber } from "./json-number.ts";
import * as keyHash from "./key-hash.ts";
import { PayloadFault } from "./payload-fault.ts";
import * as plainWords from "./plain-words.ts";
import { isValidUtf8 } from "./utf8.ts";

/** Bound here, since the engine folds a module's own constants, and not those that it imports. */
const { backslash, blank, caseBit, colon, letterE, letterF, letterN, minus, point, quote, zero } = ascii;
const { bytesBeforeStop, highBits, stopBits } = plainWords;
const { emptyHash, finishHash, mixWord } = keyHash;

/** Levels of objects and arrays that a payload may have. */
export const maxPayloadDepth = 1000;

const word = (text: string): number => Buffer.from(text).readInt32LE(0);
const wordTrue = word("true");
const wordAlse = word("alse");
const wordNull = word("null");

const emptyBuffer = Buffer.alloc(0);

export class JsonReader {
  bytes: Buffer = emptyBuffer;
  view: DataView = new DataView(emptyBuffer.buffer, emptyBuffer.byteOffset, 0);
  /** Offset behind the last byte of the payload. */
  end = 0;
  /** The last text or key that was scanned has escapes. */
  escaped = false;
  /** The hash of the last key that was scanned, escapes resolved. */
  hash = 0;
  /** Bytes of the last key that was scanned, escapes resolved. */
  keyLength = 0;
  /** Holds the characters of the last text whose escapes were resolved. */
  scratch: Buffer = Buffer.allocUnsafeSlow(1024);

  /** Reads from `bytes` from now on, up to `end`. */
  open(bytes: Buffer, end: number): void {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    }
    this.end = end;
  }

  /** The byte at `at`; 0, which no token begins with, at the end. */
  peek(at: number): number {
    return at < this.end ? this.bytes[at]! : 0;
  }

  /** The offset of the next character that is no white space, or the end. */
  skipBlanks(at: number): number {
    if (at < this.end && this.bytes[at]! > blank) return at;
    return this.#skipManyBlanks(at);
  }

  #skipManyBlanks(at: number): number {
    const { bytes, end } = this;
    while (at < end && isBlank(bytes[at]!)) at++;
    return at;
  }

  /** The colon behind a key and the blanks around it. */
  skipColon(at: number): number {
    at = this.skipBlanks(at);
    if (this.peek(at) !== colon) this.fail(at, "a colon behind the key");
    return this.skipBlanks(at + 1);
  }

  /**
   * A text whose first character is at `start`, behind the quote. Escapes are stepped over, not checked: when `escaped` is set,
   * call `resolve` or `checkEscapes`.
   *
   * @returns the offset of the closing quote
   */
  scanText(start: number): number {
    const { bytes, view, end } = this;
    this.escaped = false;
    let seen = 0;
    let at = start;
    for (;;) {
      while (at + 4 <= end) {
        const word = view.getInt32(at, true);
        seen |= word;
        const stops = stopBits(word);
        if (stops !== 0) {
          at += bytesBeforeStop(stops);
          break;
        }
        at += 4;
      }
      if (at >= end) this.#failUnterminated();
      const character = bytes[at]!;
      if (character === quote) break;
      if (character === backslash) {
        this.escaped = true;
        at += 2;
      } else if (character < blank) {
        this.fail(at, "no control character inside a text");
      } else {
        seen |= character;
        at++;
      }
    }
    if ((seen & highBits) !== 0) this.#checkUtf8(start, at);
    return at;
  }

  /** A key, as `scanText`; sets `hash` too, and checks escapes. When `escaped` is set, its characters are in `scratch`. */
  scanKey(start: number): number {
    const { view, end } = this;
    let hash = emptyHash;
    let seen = 0;
    let at = start;
    while (at + 4 <= end) {
      const word = view.getInt32(at, true);
      const stops = stopBits(word);
      seen |= word;
      if (stops !== 0) {
        const count = bytesBeforeStop(stops);
        if (count > 0) hash = mixWord(hash, word & ((1 << (count * 8)) - 1));
        at += count;
        if (this.bytes[at] !== quote) break;
        if ((seen & highBits) !== 0) this.#checkUtf8(start, at);
        this.escaped = false;
        this.keyLength = at - start;
        this.hash = finishHash(hash, at - start);
        return at;
      }
      hash = mixWord(hash, word);
      at += 4;
    }
    return this.#scanUnusualKey(start);
  }

  /** A key with escapes, or so near to the end of the payload that it cannot be read in words. */
  #scanUnusualKey(start: number): number {
    const close = this.scanText(start);
    this.keyLength = this.escaped ? this.resolve(start, close) : close - start;
    this.hash = this.escaped
      ? keyHash.hashOf(this.scratch, 0, this.keyLength)
      : keyHash.hashOf(this.bytes, start, close);
    return close;
  }

  /**
   * Resolves the escapes of the text `[start, close)` into `scratch`, which may become another buffer: take it afterwards.
   *
   * @returns how many bytes the text became
   */
  resolve(start: number, close: number): number {
    if (this.scratch.length < close - start) this.scratch = Buffer.allocUnsafeSlow((close - start) * 2);
    return this.resolveInto(this.scratch, 0, start, close);
  }

  /** Resolves the escapes of the text `[start, close)` into `out` from `at` on, where as many bytes must be free. Returns the offset behind. */
  resolveInto(out: Buffer, at: number, start: number, close: number): number {
    const end = unescape(this.bytes, start, close, out, at);
    if (end < 0) this.#failEscape(-1 - end);
    return end;
  }

  /** Checks the escapes of the text `[start, close)`. */
  checkEscapes(start: number, close: number): void {
    const bad = firstBadEscape(this.bytes, start, close);
    if (bad >= 0) this.#failEscape(bad);
  }

  /** A number that begins at `start` with a digit or a minus sign. */
  scanNumber(start: number): number {
    const { bytes, end } = this;
    let at = start;
    if (bytes[at] === minus) at++;
    const first = at;
    while (at < end && (bytes[at]! - zero) >>> 0 < 10) at++;
    const next = at < end ? bytes[at]! : 0;
    const plain = next !== point && (next | caseBit) !== letterE && (bytes[first] !== zero || at === first + 1);
    if (plain && at > first) return at;
    at = scanNumber(bytes, start, end);
    if (at < 0) this.fail(-1 - at, "a digit (and no zero in front of others)");
    return at;
  }

  /** `true` or `false`, by its first letter. */
  scanBoolean(at: number): number {
    const end = this.booleanEnd(at);
    return end < 0 ? this.fail(at, "true or false") : end;
  }

  /** The offset behind `true` or `false`; −1 when neither begins at `at`. */
  booleanEnd(at: number): number {
    const { bytes, view, end } = this;
    if (at + 4 <= end && view.getInt32(at, true) === wordTrue) return at + 4;
    return at + 5 <= end && bytes[at] === letterF && view.getInt32(at + 1, true) === wordAlse ? at + 5 : -1;
  }

  scanNull(at: number): number {
    if (this.bytes[at] === letterN && at + 4 <= this.end && this.view.getInt32(at, true) === wordNull) return at + 4;
    return this.fail(at, "null");
  }

  /** The payload ends here, but for blanks. */
  finish(at: number): void {
    at = this.skipBlanks(at);
    if (at !== this.end) this.fail(at, "nothing behind the value");
  }

  /** @param expected what should stand there, as it is told to the reader */
  fail(at: number, expected: string): never {
    const found = at < this.end ? "found another character" : "the payload ends";
    throw new PayloadFault("MALFORMED_PAYLOAD", `not JSON: expected ${expected}, but ${found}`, at);
  }

  #failUnterminated(): never {
    this.fail(this.end, "a quote that closes the text");
  }

  #failEscape(at: number): never {
    throw new PayloadFault("MALFORMED_PAYLOAD", "not JSON: an escape that JSON has not, or half a surrogate pair", at);
  }

  #checkUtf8(start: number, end: number): void {
    if (isValidUtf8(this.bytes, start, end)) return;
    throw new PayloadFault("MALFORMED_PAYLOAD", "the text is not valid UTF-8", start);
  }
}

function isBlank(character: number): boolean {
  return character === 0x20 || character === 0x0a || character === 0x0d || character === 0x09;
}
