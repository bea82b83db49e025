import { expect, test } from "vitest";
import { bytesBeforeStop, stopBits } from "../../../src/read/plain-words.ts";

const stops = (character: number): boolean => character === 0x22 || character === 0x5c || character < 0x20;

test("every character, at every place of a word, stops a run or does not", () => {
  for (let character = 0; character < 256; character++) {
    for (let place = 0; place < 4; place++) {
      const word = Buffer.from("aaaa");
      word[place] = character;
      const bits = stopBits(word.readInt32LE(0));
      const found = bits === 0 ? "none" : bytesBeforeStop(bits);
      expect(found, `character ${character} at ${place}`).toBe(stops(character) ? place : "none");
    }
  }
});

test("the first of several stops counts, whatever stands behind it", () => {
  for (const first of [0x22, 0x5c, 0x00, 0x1f]) {
    for (let next = 0; next < 256; next++) {
      const word = Buffer.from([0x7f, first, next, next]).readInt32LE(0);
      expect(bytesBeforeStop(stopBits(word)), `${first} before ${next}`).toBe(1);
    }
  }
});
