/** The AppendRows streams that are open on a server: how many there may be, and who writes to which write stream. */
import { RpcError } from "../rpc-error.ts";
import type { WriteStream } from "./write-stream.ts";

/** A stream of requests and answers that the server can end. */
export interface OpenStream {
  /** Takes no more requests, gives the answers that are due, then the error. */
  end(error: RpcError): void;
}

export class OpenStreams {
  readonly #max: number;
  readonly #open = new Set<OpenStream>();
  readonly #writers = new Map<WriteStream, OpenStream>();
  /** Set once the server is about to stop; called when none is open. */
  #whenEmpty: (() => void) | undefined;

  /** @param max of them at a time */
  constructor(max: number) {
    this.#max = max;
  }

  /** @throws RpcError RESOURCE_EXHAUSTED; UNAVAILABLE when the server is about to stop */
  add(stream: OpenStream): void {
    if (this.#whenEmpty) throw new RpcError("UNAVAILABLE", "The server is restarted");
    if (this.#open.size >= this.#max) {
      const words = `Exceeds 'Concurrent connections' quota: ${this.#max} connections are open`;
      throw new RpcError("RESOURCE_EXHAUSTED", words);
    }
    this.#open.add(stream);
  }

  remove(stream: OpenStream): void {
    this.#open.delete(stream);
    for (const [target, writer] of this.#writers) if (writer === stream) this.#writers.delete(target);
    if (this.#open.size === 0) this.#whenEmpty?.();
  }

  /** A write stream that was created has one connection: the last one that came; the one before it is ended. */
  claim(target: WriteStream, stream: OpenStream, entity: string): void {
    const before = this.#writers.get(target);
    if (before === stream) return;
    this.#writers.set(target, stream);
    before?.end(new RpcError("ABORTED", `Another connection writes to the stream now. Entity: ${entity}`));
  }

  /** Ends all, as a server does that is about to stop. @returns resolves when none is open */
  async endAll(): Promise<void> {
    const emptied = new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
    });
    if (this.#open.size === 0) this.#whenEmpty?.();
    const message =
      "Closing the stream because server is restarted. This is expected and client is advised to reconnect";
    for (const stream of this.#open) stream.end(new RpcError("ABORTED", message));
    await emptied;
  }
}
