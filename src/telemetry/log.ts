/** Structured logs on standard error: one JSON object a line, a constant message and fields. Payloads and credentials never get here. */
import type { DestinationStream, Logger } from "pino";
import { pino } from "pino";
import { MillraceError } from "../errors.ts";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

/** @param to where the lines go; standard error, without a buffer that a crash could lose */
export function openLog(level: LogLevel, to: DestinationStream = pino.destination({ fd: 2, sync: true })): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
    },
    to,
  );
}

/** An error without what libraries attach to it (requests, headers): its kind, code, message, and the stack of a defect. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack } = error;
  const code = "code" in error ? { code: error.code } : {};
  return { type: name, ...code, message, ...(error instanceof MillraceError ? {} : { stack }) };
}
