import { expect, test } from "vitest";
import { pageOf } from "../../../../src/emulator/bigquery/paging.ts";

test("pages follow each other by their tokens and cover everything once", () => {
  const pages: [number, number][] = [];
  let token: string | undefined;
  do {
    const page = pageOf(new URLSearchParams({ maxResults: "4", ...(token ? { pageToken: token } : {}) }), 10, 100);
    pages.push([page.from, page.to]);
    token = page.nextToken;
  } while (token);
  expect(pages).toEqual([
    [0, 4],
    [4, 8],
    [8, 10],
  ]);
});

test("startIndex, and the most that a page holds", () => {
  expect(pageOf(new URLSearchParams({ startIndex: "7" }), 10, 2)).toMatchObject({ from: 7, to: 9 });
  expect(pageOf(new URLSearchParams({ startIndex: "70" }), 10, 2)).toEqual({ from: 10, to: 10, nextToken: undefined });
  expect(pageOf(new URLSearchParams({ maxResults: "0" }), 10, 2)).toEqual({ from: 0, to: 0, nextToken: undefined });
});

test("what is no number and no token of ours is refused", () => {
  expect(() => pageOf(new URLSearchParams({ maxResults: "-1" }), 10, 2)).toThrow("maxResults");
  expect(() => pageOf(new URLSearchParams({ pageToken: "abc" }), 10, 2)).toThrow("page token");
});
