/** What a write stream has taken, which is certain once it is finalized. */
import { type Clock, pause } from "../lib/clock.ts";
import { backoffMs } from "../lib/retry.ts";
import { classifyFinalization, type StreamCallVerdict } from "./stream-call-error.ts";
import { requestBackoff } from "./holds.ts";
import type { SealedState } from "./offset-window.ts";
import type { CallResult } from "./write-stream-calls.ts";

export interface RowCountQuestion {
  /** Finalizes the stream and says how many rows it has. Never rejects. */
  readonly finalize: (signal: AbortSignal) => Promise<CallResult<number>>;
  readonly clock: Clock;
  readonly random: () => number;
  /** There is no answer at present, and why; the question is asked again. */
  readonly failing: (verdict: StreamCallVerdict) => void;
}

/**
 * Finalizes a stream and asks for its row count until there is an answer, or none can be.
 *
 * @returns `unknown` when the stream is not there, though its table is; or when `signal` is aborted
 */
export async function askRowCount(question: RowCountQuestion, signal: AbortSignal): Promise<SealedState> {
  const { finalize, clock, random, failing } = question;
  for (let attempt = 0; !signal.aborted; attempt++) {
    const result = await finalize(signal);
    if ("value" in result) return result.value;
    const verdict = classifyFinalization(result.failure);
    if (verdict.kind === "streamLost") return "unknown";
    if (signal.aborted) break;
    failing(verdict);
    await pause(clock, backoffMs(attempt, requestBackoff, random), signal);
  }
  return "unknown";
}
