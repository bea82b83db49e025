/** The connection of a write stream of our own, of which BigQuery takes one at a time: opened when something is sent. */
import type { AppendRequest } from "./append-request.ts";
import { AppendStream, type AppendStreamOptions } from "./append-stream.ts";

export interface SingleConnectionOptions extends AppendStreamOptions {
  /** It was opened, or is gone. */
  changed(): void;
}

export class SingleConnection {
  readonly #options: SingleConnectionOptions;
  #stream: AppendStream | undefined;
  #stale = false;

  constructor(options: SingleConnectionOptions) {
    this.#options = {
      ...options,
      ended: (stream, end, unanswered) => {
        this.#gone();
        options.ended(stream, end, unanswered);
      },
    };
  }

  get open(): boolean {
    return this.#stream !== undefined;
  }

  /** It takes no further request, and has some without an answer. */
  get stale(): boolean {
    return this.#stale;
  }

  /** Sends a request; not while it is stale. */
  send(request: AppendRequest): void {
    if (!this.#stream) {
      this.#stream = new AppendStream(this.#options);
      this.#options.changed();
    }
    this.#stream.send(request);
  }

  /** What is sent from now on goes over a new connection: once the old one has its answers, for there is one at a time. */
  renew(): void {
    this.#stale = this.open;
    this.answered();
  }

  /** An answer came. A stale connection is left with the last one; then nothing is lost by a cut. */
  answered(): void {
    if (this.#stale && this.#stream?.inFlight === 0) this.cut();
  }

  /** Cuts it; nothing is reported of requests without an answer. */
  cut(): void {
    this.#stream?.abort();
    if (this.open) this.#gone();
  }

  #gone(): void {
    this.#stream = undefined;
    this.#stale = false;
    this.#options.changed();
  }
}
