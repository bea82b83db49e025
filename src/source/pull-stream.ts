/** A StreamingPull stream, opened again whenever it ends: streams always end. */
import type * as grpc from "@grpc/grpc-js";
import { pause } from "../lib/clock.ts";
import { backoffMs } from "../lib/retry.ts";
import { PullCall, type PullCallOptions } from "./pull-call.ts";
import { type PullFailure, pullFailure } from "./pull-failure.ts";

export interface PullStreamOptions extends PullCallOptions {
  /** The stream has ended. @param failures how many tries in a row have failed, this one included */
  readonly onEnd: (code: grpc.status, failure: PullFailure, failures: number) => void;
}

export class PullStream {
  readonly #options: PullStreamOptions;
  readonly #stop = new AbortController();
  #call: PullCall | undefined;

  constructor(options: PullStreamOptions) {
    this.#options = options;
  }

  /** Opens the stream again and again. Resolves when it has ended after `stop`. */
  async run(): Promise<void> {
    const { terms, flow, clock, random, onEnd } = this.#options;
    for (let failures = 0; !this.#stop.signal.aborted;) {
      this.#call = new PullCall(this.#options);
      const { code, details, success } = await this.#call.ended;
      this.#call = undefined;
      if (this.#stop.signal.aborted) return;
      failures = success ? 1 : failures + 1;
      const failure = pullFailure(code, details, terms.subscription);
      onEnd(code, failure, failures);
      await pause(clock, backoffMs(failures - 1, failure.backoff, random), this.#stop.signal);
      await flow.whenHalfEmpty(this.#stop.signal);
    }
  }

  /** Ends the stream so that another is opened, with a window of its own; what is on its way still arrives. */
  renew(): void {
    this.#call?.halfClose();
  }

  /** Ends the stream for good; what the service has sent before it notices still arrives. */
  stop(): void {
    this.#stop.abort();
    this.#call?.halfClose();
  }
}
