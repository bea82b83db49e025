import { expect, test } from "vitest";
import { FlowControl } from "../../../src/source/flow-control.ts";

function open(): { flow: FlowControl; reads: string[]; read: (name: string) => () => void } {
  const flow = new FlowControl({ maxOutstandingMessages: 10, maxOutstandingBytes: 1000 });
  const reads: string[] = [];
  return { flow, reads, read: (name) => flow.whenOpen(() => reads.push(name)) };
}

test("nothing is read before the opening", () => {
  const { flow, reads, read } = open();
  read("a");
  expect(reads).toEqual([]);
  flow.open();
  expect(reads).toEqual(["a"]);
});

test("reads wait while messages or bytes are at their limit, and go on in order", () => {
  const { flow, reads, read } = open();
  flow.open();
  flow.add(9, 999);
  read("room");
  flow.add(5, 0);
  read("a");
  read("b");
  flow.remove(4, 0);
  expect(reads).toEqual(["room"]);
  flow.remove(1, 0);
  expect(reads).toEqual(["room", "a", "b"]);
  flow.add(0, 1);
  read("c");
  flow.remove(9, 999);
  expect(reads).toEqual(["room", "a", "b", "c"]);
  expect([flow.messages, flow.bytes]).toEqual([0, 1]);
});

test("a read that brings too much holds back those behind it", () => {
  const { flow, reads } = open();
  flow.open();
  flow.add(10, 0);
  flow.whenOpen(() => {
    reads.push("a");
    flow.add(100, 0);
  });
  flow.whenOpen(() => reads.push("b"));
  flow.remove(1, 0);
  expect(reads).toEqual(["a"]);
});

test("a read that is taken back is not made", () => {
  const { flow, reads, read } = open();
  read("a");
  read("b")();
  flow.open();
  expect(reads).toEqual(["a"]);
});

test("after the end everything is let through", () => {
  const { flow, reads, read } = open();
  flow.add(1000, 0);
  read("a");
  flow.lift();
  read("b");
  expect(reads).toEqual(["a", "b"]);
});
