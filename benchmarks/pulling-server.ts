/**
 * The other side of `pulling.ts`, in a process of its own: `node pulling-server.ts MESSAGES PER_RESPONSE`. It sends that many
 * messages down the first stream, as fast as they are read, and takes every ack.
 */
import { once } from "node:events";
import type * as grpc from "@grpc/grpc-js";
import { GrpcServer, withBytes } from "../src/emulator/grpc-server.ts";
import { pubsubProtos, serviceDefinition } from "../src/lib/protos.ts";
import { encodeResponse } from "../test/support/fake-subscriber.ts";

const messages = Number(process.argv[2]);
const perResponse = Number(process.argv[3]);
const nothing = Buffer.alloc(0);
const message = { ackId: "a".repeat(172), data: '{"id":12345,"note":"small"}', messageId: "1234567890123456" };
const response = encodeResponse(Array.from({ length: perResponse }, () => message));

let left = messages;

async function feed(call: grpc.ServerDuplexStream<Buffer, Buffer>): Promise<void> {
  for (; left > 0; left -= perResponse) {
    if (!call.write(response)) await once(call, "drain");
  }
}

const server = new GrpcServer();
const definition = ["StreamingPull", "Acknowledge", "ModifyAckDeadline"].reduce(
  (service, method) => withBytes(service, method, "both"),
  serviceDefinition(pubsubProtos(), "google.pubsub.v1.Subscriber"),
);
const take = (_: unknown, callback: grpc.sendUnaryData<Buffer>): void => callback(null, nothing);
server.addService(definition, {
  StreamingPull: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => {
    call.on("data", () => {});
    call.on("end", () => call.end());
    void feed(call);
  },
  Acknowledge: take,
  ModifyAckDeadline: take,
});
await server.listen();
process.send!(server.port);
