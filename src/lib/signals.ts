import { constants } from "node:os";

type Signal = "SIGINT" | "SIGTERM";

/**
 * Resolves at the first SIGINT or SIGTERM, so that the process can come to its end in good order. A second one ends it at once,
 * with 130 or 143.
 */
export function firstSignal(): Promise<Signal> {
  return new Promise((resolve) => {
    let signals = 0;
    const receive = (signal: Signal): void => {
      if (++signals > 1) process.exit(128 + constants.signals[signal]);
      resolve(signal);
    };
    process.on("SIGINT", receive);
    process.on("SIGTERM", receive);
  });
}
