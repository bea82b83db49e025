/** Where requests are sent: over the default stream, or over write streams of our own. */
import type { AppendAnswer } from "./append-answer.ts";
import type { CallEnd } from "./append-call.ts";
import type { HoldingVerdict } from "./holds.ts";
import type { AppendRequest } from "./append-request.ts";

export interface RequestPool {
  /** Requests that it has: sent and without a fate, or to be sent again. */
  readonly held: number;
  /** Connections that are open. */
  readonly connections: number;
  /**
   * A request that has to be sent again where it was, before anything else there. Such requests are none that wait in a
   * queue: they come back by their `binding`, and stay here.
   */
  readonly next: AppendRequest | undefined;
  /** Requests that wait here to be sent again. */
  waiting(): Iterable<AppendRequest>;
  /** Whether a request may be sent now. If not, there will be room: after an answer, or after `ready`. */
  makeRoom(request: AppendRequest): boolean;
  /** Sends a request, when there is room, or the one that `next` gave. */
  send(request: AppendRequest): void;
  /** Everything that is sent from now on goes over new connections. */
  renew(): void;
  /** Nothing is sent any more: finds out what became of requests without an answer, where that can be done. */
  conclude(): void;
  /** Cuts all connections; nothing is reported any more. Resolves when what was opened is left in order, or soon. */
  close(): Promise<void>;
}

/** A connection that can be told to take no further request. */
export interface Retirable {
  retire(): void;
}

export interface RequestPoolEvents {
  answered(request: AppendRequest, answer: AppendAnswer, connection: Retirable): void;
  /** A connection is gone. The requests may or may not be in the table, in the order in which they were sent. */
  ended(end: CallEnd, unanswered: readonly AppendRequest[]): void;
  /** A request is in the table, though no answer said so. */
  landed(request: AppendRequest): void;
  /** Requests are not in the table, through no fault of theirs. What is told next may be of those before them. */
  displaced(requests: readonly AppendRequest[]): void;
  /** What requests need cannot be had at present. */
  failing(verdict: HoldingVerdict): void;
  /** BigQuery deals with requests, though their fate is not known yet; or what they need can be had again. */
  responsive(): void;
  /** Requests may find room now. */
  ready(): void;
  /** The number of open connections has changed. */
  resized(connections: number): void;
}
