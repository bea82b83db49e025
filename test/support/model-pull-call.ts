/** A StreamingPull call without a network: what comes in is read when the client says so. */
import { EventEmitter } from "node:events";
import * as grpc from "@grpc/grpc-js";

/** The part of the options of a call by which the client holds back its reads. */
export interface PullCallGate {
  readonly interceptors: readonly [(options: object, next: () => object) => { startRead(): void }];
}

export class ModelPullCall extends EventEmitter {
  readonly #gated: { startRead(): void };
  readonly #readers: Set<(bytes: Buffer) => void>;
  #open = true;

  /** @param readers whoever reads is in it, until it is given a response */
  constructor({ interceptors: [gate] }: PullCallGate, readers: Set<(bytes: Buffer) => void>) {
    super();
    this.#readers = readers;
    this.#gated = gate({}, () => ({ startRead: () => void (this.#open && readers.add(this.#read)) }));
    queueMicrotask(() => {
      this.emit("metadata");
      this.#gated.startRead();
    });
  }

  readonly #read = (bytes: Buffer): void => {
    this.emit("data", bytes);
    this.#gated.startRead();
  };

  write(): void {}

  end(): void {
    this.#finish(grpc.status.OK);
  }

  cancel(): void {
    this.#finish(grpc.status.CANCELLED);
  }

  #finish(code: grpc.status): void {
    if (!this.#open) return;
    this.#open = false;
    this.#readers.delete(this.#read);
    queueMicrotask(() => this.emit("status", { code, details: "" }));
  }
}
