import type { Logger } from "pino";
import type { PipelineState } from "../message.ts";

/** The state of one part of a pipeline, with a reason for a person. Every change of state is logged, once. */
export class LoggedState {
  readonly #log: Logger;
  readonly #fields: object;
  readonly #message: string;
  #state: PipelineState;
  #reason = "";

  /**
   * @param fields  what is told with every change, such as whose state it is
   * @param message what is told
   */
  constructor(initial: PipelineState, log: Logger, fields: object, message: string) {
    this.#state = initial;
    this.#log = log;
    this.#fields = fields;
    this.#message = message;
  }

  get state(): PipelineState {
    return this.#state;
  }

  /** One sentence about a fault; empty otherwise. */
  get reason(): string {
    return this.#reason;
  }

  /** The reason may differ at every try: in the same state it is taken over without a word. */
  become(state: PipelineState, reason = ""): void {
    const changed = state !== this.#state;
    this.#state = state;
    this.#reason = reason;
    if (!changed) return;
    if (reason === "") this.#log.info({ ...this.#fields, state }, this.#message);
    else this.#log.warn({ ...this.#fields, state, reason }, this.#message);
  }
}
