import type { Logger } from "pino";
import { LoggedState } from "../lib/logged-state.ts";
import type { PipelineState } from "../message.ts";
import type { PullFailure } from "./pull-failure.ts";

/** So many failures in a row are told; fewer are the ordinary end of a stream. */
const toldFailures = 3;

/** How the streams of a subscription fare: well as long as the service accepts one of them. */
export class PullHealth {
  readonly #told: LoggedState;
  readonly #answering = new Set<number>();

  constructor(subscription: string, log: Logger) {
    this.#told = new LoggedState("STARTING", log, { subscription }, "the subscription changed its state");
  }

  get state(): PipelineState {
    return this.#told.state;
  }

  /** One sentence for a person about a fault; empty otherwise. */
  get reason(): string {
    return this.#told.reason;
  }

  /** The service accepts a stream. False when that is known already. */
  streamAnswers(stream: number): boolean {
    if (this.#answering.has(stream)) return false;
    this.#answering.add(stream);
    this.#become("ACTIVE");
    return true;
  }

  /** A stream has ended. True when the service had accepted it. */
  streamEnded(stream: number, failure: PullFailure, failures: number): boolean {
    const answered = this.#answering.delete(stream);
    const told = failure.setup || failures >= toldFailures;
    if (told && this.#answering.size === 0) this.#become(failure.state, failure.reason);
    return answered;
  }

  /** On the way out the streams do not matter any more. */
  leave(state: "DRAINING" | "STOPPED"): void {
    this.#become(state);
  }

  #become(state: PipelineState, reason = ""): void {
    const now = this.#told.state;
    const left = now === "STOPPED" || (now === "DRAINING" && state !== "STOPPED");
    if (!left) this.#told.become(state, reason);
  }
}
