/** What a failed call about a write stream means: CreateWriteStream and FinalizeWriteStream fail in other ways than appends. */
import { status } from "@grpc/grpc-js";
import { type AppendFailure, type AppendVerdict, classify } from "./append-error.ts";

/** What the failure means to every request. */
export type StreamCallVerdict = Extract<AppendVerdict, { kind: "reopen" | "quota" | "setup" }>;

/** A call about a write stream that has failed. */
export type StreamCallFailure = Pick<AppendFailure, "code" | "message" | "storageError">;

/** What the failure of CreateWriteStream means. */
export function classifyCreation(failure: StreamCallFailure): StreamCallVerdict {
  return ofAll(classify({ ...failure, scope: "stream", rowErrors: 0, hasOffset: false })) ?? noOwnStreams;
}

/** What the failure of FinalizeWriteStream means. `streamLost`: nobody can say what became of the stream. */
export function classifyFinalization(
  failure: StreamCallFailure,
): StreamCallVerdict | Extract<AppendVerdict, { kind: "streamLost" }> {
  if (failure.code === unimplemented && failure.storageError === 0) return streamLost;
  return ofAll(classify({ ...failure, scope: "stream", rowErrors: 0, hasOffset: true })) ?? streamLost;
}

const unimplemented: number = status.UNIMPLEMENTED;
const streamLost = { kind: "streamLost" } as const;

const noOwnStreams: StreamCallVerdict = {
  kind: "setup",
  state: "UNAVAILABLE",
  reason:
    "BigQuery does not create write streams for this table, which `delivery: exactlyOnce` needs: check that it is a table, not a view",
};

/** A verdict that holds for every request; undefined when it is about single ones. */
function ofAll(verdict: AppendVerdict): StreamCallVerdict | undefined {
  return verdict.kind === "reopen" || verdict.kind === "quota" || verdict.kind === "setup" ? verdict : undefined;
}
