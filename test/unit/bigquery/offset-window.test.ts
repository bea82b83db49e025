/** What single answers prove. That they never prove too much is the matter of test/property/offset-window.test.ts. */
import { beforeEach, describe, expect, test } from "vitest";
import { type Decided, OffsetWindow } from "../../../src/bigquery/offset-window.ts";

let window: OffsetWindow<string>;

beforeEach(() => {
  window = new OffsetWindow();
});

const words = (decided: readonly Decided<string>[]): string[] =>
  decided.map(({ append, outcome }) => `${append} ${outcome}`);

/** Ten rows each. */
const send = (...appends: readonly string[]): number[] => appends.map((append) => window.add(append, 10));

test("each append stands behind the one before", () => {
  expect(send("a", "b", "c")).toEqual([0, 10, 20]);
  expect(words(window.answered("stored"))).toEqual(["a stored"]);
  expect(send("d")).toEqual([30]);
  expect([window.length, window.end, window.open]).toEqual([3, 40, true]);
});

test("what is behind a refused one is decided when all have their answers, and moves up", () => {
  send("a", "b", "c");
  expect(words(window.answered("refused"))).toEqual([]);
  expect(window.open).toBe(false);
  expect(words(window.answered("beyond"))).toEqual([]);
  expect(words(window.answered("beyond"))).toEqual(["a refused", "b displaced", "c displaced"]);
  expect([window.length, window.end, window.open]).toEqual([0, 0, true]);
});

describe("after a failure that tells nothing", () => {
  let decided: string[];
  beforeEach(() => {
    send("a", "b", "c", "d");
    const answers = ["unsure", "beyond", "unsure", "beyond"] as const;
    decided = answers.flatMap((answer) => words(window.answered(answer)));
  });

  test("it is decided when all have their answers", () => {
    expect(decided).toEqual(["a bound", "b kept", "c bound", "d displaced"]);
  });

  test("everything up to the last append in doubt keeps its place, and waits for those who have it", () => {
    expect([window.end, window.open, window.next]).toEqual([30, false, undefined]);
    window.giveBack("c");
    expect(window.next).toBeUndefined();
    expect([...window.waiting()]).toEqual(["b", "c"]);
    window.giveBack("a");
    expect(window.next).toBe("a");
    expect([window.sendNext(), window.sendNext(), window.sendNext()]).toEqual([0, 10, 20]);
    expect([window.next, window.open]).toEqual([undefined, true]);
  });

  test("rows that are there already are those of the append that was sent there", () => {
    window.giveBack("a");
    window.sendNext();
    expect(words(window.answered("exists"))).toEqual(["a found"]);
    expect(window.next).toBe("b");
  });

  test("a later append that is stored says that all before it are", () => {
    window.giveBack("a");
    window.giveBack("c");
    for (let i = 0; i < 3; i++) window.sendNext();
    window.answered("unsure");
    window.answered("unsure");
    expect(words(window.answered("stored"))).toEqual(["a found", "b found", "c stored"]);
    expect([window.mustSeal, window.end]).toEqual([false, 30]);
  });

  test("a refusal is no proof, since the rows may have been taken before: only the row count is", () => {
    window.giveBack("a");
    window.sendNext();
    expect(words(window.answered("refused"))).toEqual([]);
    expect([window.mustSeal, window.open, window.next]).toEqual([true, false, undefined]);
    expect(words(window.sealed(10))).toEqual(["a found", "b displaced", "c displaced"]);
  });
});

test("an end of the connection leaves everything without an answer in doubt", () => {
  send("a", "b");
  expect(words(window.interrupted())).toEqual(["a bound", "b bound"]);
  expect(window.mustSeal).toBe(false);
});

test("an end of the connection over what stands behind a refused append: the stream must be sealed", () => {
  send("a", "b");
  window.answered("refused");
  expect(words(window.interrupted())).toEqual([]);
  expect(window.mustSeal).toBe(true);
  expect(words(window.sealed(0))).toEqual(["a displaced", "b displaced"]);
});

describe("sealed, with appends in doubt", () => {
  beforeEach(() => {
    send("before");
    window.answered("stored");
    send("a", "b");
    window.interrupted();
  });

  test.each([
    [30, ["a found", "b found"]],
    [20, ["a found", "b displaced"]],
    [10, ["a displaced", "b displaced"]],
    // An append is taken whole or not at all.
    [25, ["a found", "b unknown"]],
    // Fewer rows than were confirmed: what else would be true of such a count?
    [9, ["a unknown", "b unknown"]],
    ["gone", ["a displaced", "b displaced"]],
    ["unknown", ["a unknown", "b unknown"]],
  ] as const)("%s", (state, outcomes) => {
    expect(words(window.sealed(state))).toEqual(outcomes);
    expect([window.length, window.open]).toEqual([0, false]);
  });
});

describe("a server that contradicts itself is not believed", () => {
  test("rows exist where nothing was sent before", () => {
    send("a", "b");
    window.answered("exists");
    expect(words(window.answered("exists"))).toEqual([]);
    expect(words(window.sealed(20))).toEqual(["a unknown", "b unknown"]);
  });

  test("the stream does not reach to where it was confirmed", () => {
    send("a");
    window.answered("stored");
    send("b");
    expect(words(window.answered("beyond"))).toEqual([]);
    expect(window.mustSeal).toBe(true);
    expect(words(window.sealed(10))).toEqual(["b displaced"]);
  });

  test("rows are stored behind some that were refused", () => {
    send("a", "b", "c");
    window.answered("refused");
    expect(words(window.answered("stored"))).toEqual(["a displaced", "b stored"]);
    expect(window.mustSeal).toBe(true);
    expect(words(window.sealed(30))).toEqual(["c unknown"]);
  });
});

test("a stream that takes nothing any more must be sealed", () => {
  send("a");
  expect(words(window.answered("lost"))).toEqual([]);
  expect(window.mustSeal).toBe(true);
});
