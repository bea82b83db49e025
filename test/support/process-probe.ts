/**
 * Loaded into a Millrace process by `--import`, for tests only: at SIGUSR2 it writes one line to standard error with the
 * heap after a collection (with `--expose-gc`) and how late the event loop has been since the line before.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";

/** What stands in the line, beside `"probe":true`. */
export interface ProbeLine {
  readonly heapUsed: number;
  /** Milliseconds: of 100 turns of the event loop 99 were not later than this. */
  readonly loopLagP99: number;
}

const lag = monitorEventLoopDelay({ resolution: 10 });
lag.enable();

process.on("SIGUSR2", () => {
  globalThis.gc?.();
  const line: ProbeLine = { heapUsed: process.memoryUsage().heapUsed, loopLagP99: lag.percentile(99) / 1e6 };
  lag.reset();
  process.stderr.write(`${JSON.stringify({ probe: true, ...line })}\n`);
});
