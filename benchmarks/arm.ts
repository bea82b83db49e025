/** The contestants of a benchmark. */
import type { Row } from "../test/support/slow-row.ts";
import type { Corpus } from "./corpus.ts";

/** One way of doing the work, prepared for one corpus. */
export interface Arm {
  /** Does the work for every message of one part of the corpus. */
  run(part: number): void;
  /**
   * The first `count` results in the form of the slow path, so that they can be compared with it;
   * undefined for an arm that makes no rows: what it makes is compared with the payloads.
   */
  rows(count: number): readonly Row[] | undefined;
  /** The first `count` results of an arm that makes no rows, as JSON. */
  json?(count: number): readonly string[];
}

export type ArmName = (typeof arms)[number]["name"];

/** The arm that all others are measured by. */
export const yardstick = "parse-text";

/** The arm that the limit is for. */
export const contestant = "transcoder";

/** In the order of the tables; `title` is what their reader sees. */
export const arms = [
  { name: "parse-text", title: "JSON.parse of a string" },
  { name: "parse-buffer", title: "JSON.parse of a Buffer" },
  { name: "transcoder", title: "Millrace, payload to row" },
  { name: "protobufjs", title: "JSON.parse + protobufjs" },
  { name: "bigquery-storage", title: "JSON.parse + @google-cloud/bigquery-storage" },
] as const;

/** Loads an arm, and nothing of the others: each has its process to itself. */
export async function prepareArm(name: ArmName, corpus: Corpus): Promise<Arm> {
  switch (name) {
    case "parse-text":
      return (await import("./arms/json-parse.ts")).parseText(corpus);
    case "parse-buffer":
      return (await import("./arms/json-parse.ts")).parseBuffer(corpus);
    case "transcoder":
      return (await import("./arms/transcoder.ts")).transcoder(corpus);
    case "protobufjs":
      return (await import("./arms/protobufjs.ts")).protobufjs(corpus);
    case "bigquery-storage":
      return (await import("./arms/bigquery-storage.ts")).bigQueryStorage(corpus);
  }
}
