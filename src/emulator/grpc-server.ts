/** The gRPC server of the embedded services: plaintext HTTP/2 on loopback. */
import type { Server as HttpServer } from "node:http";
import { createServer, type AddressInfo, type Socket } from "node:net";
import * as grpc from "@grpc/grpc-js";
import { systemClock } from "../lib/clock.ts";
import { listen } from "../lib/listen.ts";
import { asBytes } from "../lib/raw-call.ts";
import { switchByProtocol } from "./protocol-switch.ts";

/** Requests and responses are as large as the services' own limits say; the transport sets none. */
const transportOptions: grpc.ServerOptions = {
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
  "grpc.enable_channelz": 0,
};

/** Anything that knows its peer: every kind of grpc-js server call. */
export interface Peered {
  getPeer(): string;
}

/**
 * A gRPC server that owns its sockets, so that a fault can cut the connection of one call.
 * Add services first, then listen.
 */
export class GrpcServer {
  readonly #grpc = new grpc.Server(transportOptions);
  readonly #connections = new Map<string, Connection>();
  readonly #listener = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  readonly #http1: HttpServer | undefined;

  /** @param http1 takes the connections that speak plain HTTP; it listens nowhere itself. Absent: nobody does */
  constructor(http1?: HttpServer) {
    this.#http1 = http1;
  }

  /** Methods without a handler answer UNIMPLEMENTED. */
  addService(definition: grpc.ServiceDefinition, handlers: grpc.UntypedServiceImplementation): void {
    this.#grpc.addService(definition, handlers);
  }

  /** @param port 0 for any free one */
  async listen(port = 0): Promise<void> {
    await listen(this.#listener, port, "127.0.0.1");
  }

  get host(): string {
    return this.#address.address;
  }

  get port(): number {
    return this.#address.port;
  }

  /** Cuts the connection on which a call came, without a word; other calls of that connection fall with it. */
  disconnect(call: Peered): void {
    this.#connections.get(call.getPeer())?.socket.destroy();
  }

  /** Like `disconnect`, but by a TCP reset: the client sees an error (ECONNRESET), not an end. */
  reset(call: Peered): void {
    this.#connections.get(call.getPeer())?.socket.resetAndDestroy();
  }

  /** Tells the client of a call to begin no more calls on its connection; those that are open go on. */
  goAway(call: Peered): void {
    this.#connections.get(call.getPeer())?.goAway();
  }

  /** Cuts all connections; new ones are taken. */
  disconnectAll(): void {
    for (const { socket } of this.#connections.values()) socket.destroy();
  }

  /** Takes no more connections, lets open calls end for `graceMs`, then cuts what is left. */
  async close(graceMs = 0): Promise<void> {
    const closed = new Promise((resolve) => {
      this.#listener.close(resolve);
    });
    if (graceMs === 0) this.disconnectAll();
    const cut = systemClock.setTimer(() => this.disconnectAll(), graceMs);
    await new Promise((resolve) => {
      this.#grpc.tryShutdown(resolve);
    });
    // A connection that has nothing to do any more closes by itself, once its last answers are sent.
    await closed;
    cut.cancel();
  }

  get #address(): AddressInfo {
    const address = this.#listener.address();
    if (address === null || typeof address === "string") throw new Error("The gRPC server does not listen");
    return address;
  }

  #accept(socket: Socket): void {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    // An injector of its own for every connection: draining one sends GOAWAY on that connection alone.
    const injector = this.#grpc.createConnectionInjector(grpc.ServerCredentials.createInsecure());
    this.#connections.set(peer, { socket, goAway: () => injector.drain(maxTimerMs) });
    socket.once("close", () => {
      this.#connections.delete(peer);
      injector.destroy();
    });
    const http1 = this.#http1;
    if (!http1) return injector.injectConnection(socket);
    switchByProtocol(
      socket,
      () => injector.injectConnection(socket),
      () => http1.emit("connection", socket),
    );
  }
}

interface Connection {
  readonly socket: Socket;
  goAway(): void;
}

/** Draining cuts what is left after a time; here that is never. */
const maxTimerMs = 2 ** 31 - 1;

/** Which messages of a method travel as bytes instead of objects. */
export type BytesSide = "request" | "response" | "both";

/**
 * The same service, with messages of one method handed over as encoded: for the busy methods, whose messages are
 * not worth an object each.
 */
export function withBytes(definition: grpc.ServiceDefinition, method: string, side: BytesSide): grpc.ServiceDefinition {
  const known = definition[method];
  if (!known) throw new Error(`The service has no method ${method}`);
  return {
    ...definition,
    [method]: {
      ...known,
      ...(side === "response" ? {} : { requestSerialize: asBytes, requestDeserialize: asBytes }),
      ...(side === "request" ? {} : { responseSerialize: asBytes, responseDeserialize: asBytes }),
    },
  };
}
