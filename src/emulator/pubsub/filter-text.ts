/** A filter's text, read from left to right: words, keys, string literals, and where something else stands. */
import { invalidArgument, type RpcError } from "../rpc-error.ts";

/** Letters that stand for a character behind a backslash. */
const escapes: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** Escapes by code point: octal, hexadecimal, Unicode. */
const codePoint = /([0-3][0-7]{2})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})/y;

const plainKey = /[A-Za-z0-9_-]+/y;
const space = /\s*/y;
const maxCodePoint = 0x10_ff_ff;

export class FilterText {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Passes over blanks and says whether anything follows. */
  get atEnd(): boolean {
    this.#take(space);
    return this.#at === this.#text.length;
  }

  /** Takes this sign, if it comes next; blanks may stand before it. */
  sign(sign: string): boolean {
    if (this.atEnd || !this.#text.startsWith(sign, this.#at)) return false;
    this.#at += sign.length;
    return true;
  }

  /** Takes this word, if it comes next. */
  word(word: string): boolean {
    if (!this.comes(word)) return false;
    this.#at += word.length;
    return true;
  }

  /** Whether this word comes next; nothing that could belong to a longer one may follow it. */
  comes(word: string): boolean {
    if (this.atEnd || !this.#text.startsWith(word, this.#at)) return false;
    return !/[A-Za-z0-9_]/.test(this.#text.charAt(this.#at + word.length));
  }

  /** @throws RpcError when something else comes */
  expectSign(sign: string): void {
    if (!this.sign(sign)) throw this.expected(`"${sign}"`);
  }

  /** An attribute's key: plain, or in quotes. @throws RpcError when there is none */
  key(): string {
    const key = !this.atEnd && this.#peek === '"' ? this.string() : this.#take(plainKey);
    if (!key) throw this.expected("a key: letters, digits, _ and -, or any text in double quotes");
    return key;
  }

  /** A string literal. @throws RpcError when there is none, or it is not well-formed */
  string(): string {
    if (this.atEnd || this.#peek !== '"') throw this.expected("a text in double quotes");
    const start = this.#at++;
    let value = "";
    while (this.#peek !== '"') {
      if (this.#peek === "") throw failure(start, "a text has no closing quote");
      value += this.#peek === "\\" ? this.#escape() : this.#next();
    }
    this.#at++;
    return value;
  }

  /** What to say when something else was needed here. */
  expected(what: string): RpcError {
    const found = this.atEnd ? "the end" : `"${this.#text.slice(this.#at, this.#at + 12)}"`;
    return failure(this.#at, `expected ${what}, found ${found}`);
  }

  /** What to say of something that stands here and is not allowed. */
  refused(why: string): RpcError {
    return failure(this.#at, why);
  }

  get #peek(): string {
    return this.#text.charAt(this.#at);
  }

  #next(): string {
    return this.#text.charAt(this.#at++);
  }

  #escape(): string {
    const start = this.#at++;
    const found = codePoint.exec(this.#from(codePoint));
    if (found) {
      this.#at += found[0].length;
      const number = found[1] ? Number.parseInt(found[1], 8) : Number.parseInt(found[2] ?? found[3] ?? found[4]!, 16);
      if (number > maxCodePoint) throw failure(start, "an escape is beyond the last character of Unicode");
      return String.fromCodePoint(number);
    }
    const letter = this.#next();
    const value = escapes[letter] ?? (/["'`?\\]/.test(letter) ? letter : undefined);
    if (value === undefined) throw failure(start, `"\\${letter}" is no escape`);
    return value;
  }

  /** Takes what the pattern finds here. */
  #take(pattern: RegExp): string {
    const found = pattern.exec(this.#from(pattern))?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  /** The text, for a sticky pattern that is to look here. */
  #from(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    return this.#text;
  }
}

/** @param at characters before the fault */
function failure(at: number, what: string): RpcError {
  return invalidArgument(`The filter is wrong at character ${at + 1}: ${what}`);
}
