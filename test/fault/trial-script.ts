/**
 * What happens in one trial of the real command: which messages come, under which options, and what goes wrong. Plain
 * JSON, so that a script that fails can be printed, made smaller by hand and run again (`FAULT_SCRIPT=FILE`).
 */
import type { FaultScript } from "../../src/emulator/faults.ts";

export interface TrialScript {
  readonly messages: number;
  /** So many of them the transcoder refuses. */
  readonly unreadable: number;
  /** So many of them BigQuery refuses. */
  readonly refused: number;
  /** How many rows of a request with refused ones BigQuery names at most; absent: all. */
  readonly named?: number;
  /** Ordering keys that the messages are spread over; 0: the messages have none. */
  readonly keys: number;
  readonly exactlyOnceSubscription: boolean;
  /** Options of the pipeline. */
  readonly pipeline: PipelineOptions;
  /** Over how long the messages are published, evenly. */
  readonly publishMs: number;
  readonly faults: Partial<FaultScript>;
  readonly events: readonly TrialEvent[];
}

export interface PipelineOptions {
  readonly delivery?: "atLeastOnce" | "exactlyOnce";
  readonly dedupe?: object;
  readonly [option: string]: unknown;
}

/** What is done to the process or its surroundings, so long after its start. */
export interface TrialEvent {
  readonly atMs: number;
  readonly kind: EventKind;
}

export const eventKinds = [
  /** SIGKILL, and a new process. */
  "kill",
  /** SIGTERM, and a new process. */
  "restart",
  /** A column is added; messages published from then on fill it. */
  "addColumn",
  /** The table is dropped and made anew; its rows go with it. */
  "recreateTable",
  /** The subscription is deleted and made anew; what it had is published again. */
  "recreateSubscription",
  /** All connections of Pub/Sub are cut. */
  "cutPubSub",
] as const;

export type EventKind = (typeof eventKinds)[number];

export const quietScript: TrialScript = {
  messages: 300,
  unreadable: 0,
  refused: 0,
  keys: 0,
  exactlyOnceSubscription: false,
  pipeline: {},
  publishMs: 0,
  faults: {},
  events: [],
};
