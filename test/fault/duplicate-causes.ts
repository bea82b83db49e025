/** Why a message may be written twice in a trial, and how often at most: every duplicate has to have a cause. */
import type { Fault } from "../../src/emulator/faults.ts";
import type { TrialScript } from "./trial-script.ts";
import type { World } from "./world.ts";

export interface Cause {
  readonly name: string;
  /** Rows that it can explain. */
  readonly rows: number;
  /** Letters that it can explain. */
  readonly letters: number;
}

/** One fault meets the same rows or letter so often at most: its calls are few, or its time is too short for more attempts. */
const timesPerFault = 5;

/** What a trial has in it, beside killed processes, that can double a row or a letter under the promises of its options. */
export function causesOf(script: TrialScript, world: World): Cause[] {
  const { pipeline, messages, faults, events } = script;
  const all = (name: string, { rows = 0, letters = 0 }: Partial<Cause>): Cause => ({ name, rows, letters });
  const causes: Cause[] = [];
  const has = (kind: string): boolean => events.some((event) => event.kind === kind);
  if (has("recreateSubscription")) {
    const { republished } = world;
    causes.push(all("published again with the new subscription", { rows: republished, letters: republished }));
  }
  const lostAppends = (faults.bigquery ?? []).filter(losesAnswer).length;
  if (lostAppends > 0) {
    // Write streams go with their table, and with them the offsets that tell what is written.
    const { rowsOfTwoTables } = world.ledger;
    const rows = messages * timesPerFault * lostAppends;
    if (pipeline.delivery !== "exactlyOnce") causes.push(all("the answer to an append was lost", { rows }));
    else if (has("recreateTable")) causes.push(all("the table went before the answer", { rows: rowsOfTwoTables }));
  }
  const lostPublishes = (faults.pubsub ?? []).filter(
    (fault) => fault.method === "Publish" && losesAnswer(fault),
  ).length;
  if (lostPublishes > 0) {
    const letters = messages * timesPerFault * lostPublishes;
    causes.push(all("the answer to a publish was lost", { letters }));
  }
  const redelivers = (faults.pubsub ?? []).some(({ method }) => method !== "Publish") || has("cutPubSub");
  // What was settled before a restart is not known after it.
  if (redelivers && (!pipeline.dedupe || has("restart") || has("kill"))) {
    causes.push(all("an acknowledgement or a message was lost on its way", { rows: messages, letters: messages }));
  }
  return causes;
}

/** The request takes effect, and its sender does not hear of it; cuts concern what is in flight beside, too. */
function losesAnswer({ status, disconnect, reset, hang, done, delayMs = 0 }: Fault): boolean {
  const answerTimeoutMs = 60_000;
  return Boolean(status ?? disconnect ?? reset ?? hang ?? done) || delayMs >= answerTimeoutMs;
}
