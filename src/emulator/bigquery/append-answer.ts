/** AppendRowsResponse for what became of a request. */
import * as grpc from "@grpc/grpc-js";
import type { AppendOutcome } from "./append-connection.ts";
import type { AppendRefusal } from "./append-refusal.ts";
import { storageSchema } from "./column-json.ts";

/** The plain message. */
export function appendAnswer({ stream, refusal, offset, rowProblems, updatedColumns }: AppendOutcome): object {
  return {
    writeStream: stream,
    ...(refusal
      ? { error: statusOf(refusal) }
      : { appendResult: offset === undefined ? {} : { offset: { value: offset } } }),
    rowErrors: rowProblems.map(({ index, message }) => ({ index, code: "FIELDS_ERROR", message })),
    ...(updatedColumns ? { updatedSchema: storageSchema(updatedColumns) } : {}),
  };
}

/** A plain `google.rpc.Status`. */
function statusOf(refusal: AppendRefusal): object {
  return {
    code: grpc.status[refusal.status],
    message: refusal.message,
    details: refusal.details.map(({ type, value }) => ({ type_url: `type.googleapis.com/${type}`, value })),
  };
}
