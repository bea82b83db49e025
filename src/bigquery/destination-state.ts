/** What a destination says of itself: to whoever asks, and to the log when that changes. */
import type { Logger } from "pino";
import type { PipelineState } from "../message.ts";
import type { Trouble } from "./holds.ts";

export interface DestinationStateOptions {
  /** As a person names the table. */
  readonly table: string;
  readonly log: Logger;
  /** What keeps rows from being written; undefined when nothing does. */
  readonly trouble: () => Trouble | undefined;
}

export class DestinationState {
  readonly #options: DestinationStateOptions;
  /** How far the destination is, if nothing is in its way. */
  phase: "STARTING" | "ACTIVE" | "DRAINING" | "STOPPED" = "STARTING";
  #logged: PipelineState = "STARTING";

  constructor(options: DestinationStateOptions) {
    this.#options = options;
  }

  get state(): PipelineState {
    return this.#trouble?.state ?? this.phase;
  }

  /** One sentence for a person; empty when there is nothing to tell. */
  get reason(): string {
    const trouble = this.#trouble;
    if (!trouble) return "";
    const outlook = trouble.state === "UNAVAILABLE" ? "; Millrace keeps trying" : "";
    return `${this.#options.table}: ${trouble.reason}${outlook}`;
  }

  /** The schema is mapped. */
  begin(): void {
    if (this.phase === "STARTING") this.phase = "ACTIVE";
  }

  /** Logs a change of state, once. */
  note(): void {
    const { state } = this;
    if (state === this.#logged) return;
    this.#logged = state;
    const { log } = this.#options;
    const { reason } = this;
    if (state === "ACTIVE") log.info({ state }, "destination is active");
    else if (reason !== "") log.warn({ state, reason }, "destination holds back");
  }

  /** Of a destination that comes to its end nothing else is told. */
  get #trouble(): Trouble | undefined {
    return this.phase === "DRAINING" || this.phase === "STOPPED" ? undefined : this.#options.trouble();
  }
}
