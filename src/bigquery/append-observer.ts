import type { RefusalCode } from "../errors.ts";

/** Why a request is sent again. */
export type RetryReason = "unavailable" | "quota" | "setup" | "schema" | "rowErrors" | "isolate" | "split" | "offset";

/**
 * What becomes of write streams of our own. `rotated`: retired before BigQuery forgets it, or for another schema. `sealed`:
 * finalized early, to find out what it has taken.
 */
export type WriteStreamEvent = "created" | "rotated" | "sealed" | "finalized";

/** What the append path tells those who count. Called per request, answer or batch of messages, never per message. */
export interface AppendObserver {
  /** BigQuery has stored the rows of one request; `seconds` from its sending to its answer. */
  appended(rows: number, bytes: number, seconds: number): void;
  /** The fate of a batch of messages is known; `seconds` from the publishing of its oldest message. */
  committed(messages: number, seconds: number): void;
  /** So many messages of one batch or request were refused with this code. */
  refused(code: RefusalCode, messages: number): void;
  /** So many requests will be sent again. */
  retried(reason: RetryReason, requests: number): void;
  /** Requests without an answer at this moment. */
  inFlight(requests: number): void;
  /** Connections that are open at this moment. */
  connections(count: number): void;
  writeStream(event: WriteStreamEvent): void;
  /** So many rows of one request turned out to be in the table, after its answer was lost. */
  alreadyStored(rows: number): void;
  /** Nobody will know whether the rows of a request are in the table: they are written, maybe again. */
  outcomeUnknown(rows: number): void;
  schemaRefreshed(result: "changed" | "unchanged" | "failed"): void;
}
