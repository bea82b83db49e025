import * as grpc from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { type OpenStream, OpenStreams } from "../../../../src/emulator/bigquery/open-streams.ts";
import { WriteStream } from "../../../../src/emulator/bigquery/write-stream.ts";
import type { RpcError } from "../../../../src/emulator/rpc-error.ts";

class Ended implements OpenStream {
  readonly errors: RpcError[] = [];

  end(error: RpcError): void {
    this.errors.push(error);
  }
}

test("no more than so many at a time", () => {
  const open = new OpenStreams(2);
  const [first, second, third] = [new Ended(), new Ended(), new Ended()];
  open.add(first);
  open.add(second);
  expect(() => open.add(third)).toThrow("Exceeds 'Concurrent connections' quota: 2");
  open.remove(first);
  open.add(third);
});

test("a write stream belongs to the connection that came last; the one before it is ended", () => {
  const open = new OpenStreams(Infinity);
  const target = new WriteStream("s", "COMMITTED", 0);
  const [first, second] = [new Ended(), new Ended()];
  for (const stream of [first, second]) open.add(stream);
  open.claim(target, first, "name");
  open.claim(target, first, "name");
  open.claim(new WriteStream("other", "COMMITTED", 0), second, "other");
  expect(first.errors).toEqual([]);
  open.claim(target, second, "name");
  expect(first.errors.map(({ code }) => code)).toEqual([grpc.status.ABORTED]);
  open.remove(second);
  open.claim(target, new Ended(), "name");
  expect(second.errors).toEqual([]);
});

test("all are ended when the server stops, and none comes in; it waits for the last", async () => {
  const open = new OpenStreams(Infinity);
  const [here, gone] = [new Ended(), new Ended()];
  for (const stream of [here, gone]) open.add(stream);
  open.remove(gone);
  let isEmpty = false;
  const emptied = open.endAll().then(() => {
    isEmpty = true;
  });
  expect(() => open.add(new Ended())).toThrow("The server is restarted");
  await Promise.resolve();
  expect(isEmpty).toBe(false);
  open.remove(here);
  await emptied;
  await open.endAll();
  expect(here.errors[0]?.details).toContain("Closing the stream because server is restarted");
  expect(gone.errors).toEqual([]);
});
