import { expect, test } from "vitest";
import { linesOf } from "../../../src/commands/lines.ts";

async function split(text: string, chunkBytes: number): Promise<string[]> {
  async function* chunks(): AsyncGenerator<Buffer> {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  const lines: string[] = [];
  for await (const line of linesOf(chunks())) lines.push(line.toString());
  return lines;
}

test.each([
  ["", []],
  ["a", ["a"]],
  ["a\n", ["a"]],
  ["\n\n", ["", ""]],
  ["a\n\nlonger line\r\nlast é", ["a", "", "longer line\r", "last é"]],
])("the lines of %j, however it is cut", async (text, expected) => {
  for (const chunkBytes of [1, 2, 3, 100]) expect(await split(text, chunkBytes)).toEqual(expected);
});

test("a line of many chunks is put together once", async () => {
  const start = performance.now();
  expect(await split(`${"x".repeat(2_000_000)}\ny`, 100)).toEqual(["x".repeat(2_000_000), "y"]);
  expect(performance.now() - start).toBeLessThan(2000);
});
