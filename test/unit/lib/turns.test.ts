import { expect, test } from "vitest";
import { Turns } from "../../../src/lib/turns.ts";

test("so many at a time, the others in order, also after a failure", async () => {
  const turns = new Turns(2);
  const works = Array.from({ length: 4 }, () => Promise.withResolvers<string>());
  const begun: number[] = [];
  const results = works.map(({ promise }, i) =>
    turns.take(() => {
      begun.push(i);
      return promise;
    }),
  );
  await Promise.resolve();
  expect(begun).toEqual([0, 1]);
  works[1]!.reject(new Error("no"));
  await expect(results[1]).rejects.toThrow("no");
  expect(begun).toEqual([0, 1, 2]);
  works[0]!.resolve("a");
  expect(await results[0]).toBe("a");
  works[2]!.resolve("c");
  works[3]!.resolve("d");
  expect(await Promise.all([results[2], results[3]])).toEqual(["c", "d"]);
  expect(begun).toEqual([0, 1, 2, 3]);
  expect(await turns.take(() => Promise.resolve("free"))).toBe("free");
});
