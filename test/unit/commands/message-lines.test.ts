import { expect, test } from "vitest";
import { messageBatches } from "../../../src/commands/message-lines.ts";

async function* chunksOf(...chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

test("a line that is no UTF-8 is no message: nothing in it is replaced in silence", async () => {
  const line = Buffer.concat([Buffer.from('{"attributes":{"k":"'), Buffer.of(0xff), Buffer.from('"}}')]);
  const batches = messageBatches(chunksOf(Buffer.from("{}\n"), line), "input", false);
  await expect(batches.next()).rejects.toThrow("input, line 2 is no PubsubMessage: it is not valid UTF-8");
});

test("a payload may have any bytes", async () => {
  const batches = messageBatches(chunksOf(Buffer.of(0xff, 0x0a, 0xfe)), "input", true);
  const { value } = await batches.next();
  expect(value?.bytes).toEqual(Buffer.of(0xff, 0xfe));
  expect(value?.length).toBe(2);
});
