/** Structured logs on standard error: one JSON object a line, a constant message and fields. Payloads and credentials never get here. */
import type { DestinationStream, Logger } from "pino";
import { pino } from "pino";
import { MillraceError } from "../errors.ts";
import { stackFrames } from "../lib/stack-frames.ts";

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

/**
 * An error without what libraries attach to it (requests, headers): its kind, code, message, and the stack of a defect.
 * Of a message that the engine or Node may have put together from a value, which may be a payload's, nothing is told.
 */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name } = error;
  const code = "code" in error ? { code: error.code } : {};
  const message = mayQuoteValue(error) ? {} : { message: error.message };
  if (error instanceof MillraceError) return { type: name, ...code, ...message };
  return { type: name, ...code, ...message, stack: stackFrames(error) };
}

/** `Unexpected token … in "{…"`, `Cannot convert 12e to a BigInt`, `Received type string ('…')` */
function mayQuoteValue(error: Error): boolean {
  if (error instanceof SyntaxError || error instanceof RangeError) return true;
  return "code" in error && typeof error.code === "string" && error.code.startsWith("ERR_");
}
