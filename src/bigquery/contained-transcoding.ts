/** Transcoding in which an exception costs no more than the message that raises it. */
import type { Refusal } from "../errors.ts";
import { stackFrames } from "../lib/stack-frames.ts";
import type { MessageBatch } from "../message.ts";
import type { Transcoded, Transcoder } from "../transcode/transcoder.ts";
import type { RowBatch } from "../write/row-batch.ts";

const internalError: Refusal = {
  code: "INTERNAL_ERROR",
  path: "",
  stage: "transcode",
  message: "Millrace failed on this message, which is a defect of Millrace",
};

/**
 * As `Transcoder.transcode`. After an exception the same messages are transcoded one by one, and those that raise one
 * are refused.
 *
 * @param failed is told of the first exception, and of how many messages raised one
 */
export function transcodeContained(
  transcoder: Transcoder,
  batch: MessageBatch,
  from: number,
  to: number,
  rows: RowBatch,
  failed: (error: unknown, messages: number) => void,
): Transcoded {
  const all = attempt(transcoder, batch, from, to, rows);
  return all instanceof Exception ? oneByOne(transcoder, batch, from, to, rows, failed) : all;
}

function oneByOne(
  transcoder: Transcoder,
  batch: MessageBatch,
  from: number,
  to: number,
  rows: RowBatch,
  failed: (error: unknown, messages: number) => void,
): Transcoded {
  const refusals = new Map<number, Refusal>();
  const errors: unknown[] = [];
  let message = from;
  for (let next = from; message < to; message++) {
    const one = attempt(transcoder, batch, message, message + 1, rows);
    if (one instanceof Exception) {
      refusals.set(message, internalError);
      errors.push(one.error);
      next = message + 1;
    } else {
      ({ next } = one);
      for (const [refused, refusal] of one.refusals) refusals.set(refused, refusal);
    }
    if (next === message) break;
  }
  if (errors.length > 0) failed(errors[0], errors.length);
  return { next: message, refusals };
}

/** Transcodes, or raises an exception and leaves the rows as they were. */
function attempt(
  transcoder: Transcoder,
  batch: MessageBatch,
  from: number,
  to: number,
  rows: RowBatch,
): Transcoded | Exception {
  const before = rows.rowCount;
  const position = rows.writer.position;
  try {
    return transcoder.transcode(batch, from, to, rows);
  } catch (error) {
    rows.takeBackTo(before, position);
    return new Exception(error);
  }
}

class Exception {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** What may be logged of an exception: its class and where it was raised, never its words, which may quote a value. */
export function traceOf(error: unknown): { readonly type: string; readonly trace: readonly string[] } {
  if (!(error instanceof Error)) return { type: typeof error, trace: [] };
  return { type: error.constructor.name, trace: stackFrames(error) };
}
