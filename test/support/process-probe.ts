/**
 * Loaded into a Millrace process by `--import`, for tests only: at SIGUSR2 it writes one line to standard error with the
 * heap after two collections (with `--expose-gc`) and how late the event loop has been since the line before.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { getHeapSpaceStatistics } from "node:v8";

/** What stands in the line, beside `"probe":true`. */
export interface ProbeLine {
  readonly heapUsed: number;
  /** The part of it that the compiler has filled with code: V8 goes on compiling for minutes. */
  readonly codeUsed: number;
  /** Outside the heap, but held from there: what buffers have. */
  readonly external: number;
  /** Milliseconds: of 100 turns of the event loop 99 were not later than this. */
  readonly loopLagP99: number;
}

const lag = monitorEventLoopDelay({ resolution: 10 });
lag.enable();

/** Machine code and bytecode, with what belongs to them. */
const codeSpace = /code|trusted/;

/**
 * Two complete collections, with a turn of the event loop between them: what has finalizers, or hangs on a weak reference
 * that the first has cleared, goes with the second.
 */
async function collect(): Promise<void> {
  globalThis.gc?.();
  await setImmediate();
  globalThis.gc?.();
}

async function tell(): Promise<void> {
  await collect();
  const code = getHeapSpaceStatistics().filter(({ space_name: name }) => codeSpace.test(name));
  const { heapUsed, external } = process.memoryUsage();
  const line: ProbeLine = {
    heapUsed,
    external,
    codeUsed: code.reduce((sum, { space_used_size: bytes }) => sum + bytes, 0),
    loopLagP99: lag.percentile(99) / 1e6,
  };
  lag.reset();
  process.stderr.write(`${JSON.stringify({ probe: true, ...line })}\n`);
}

process.on("SIGUSR2", () => void tell());
