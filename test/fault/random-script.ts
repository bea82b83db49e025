/** Scripts of faults by chance: always the same for the same seed. */
import type { Fault } from "../../src/emulator/faults.ts";
import { chance, type Choose, choicesOf, pick, times } from "../support/random-choices.ts";
import { type EventKind, eventKinds, type PipelineOptions, type TrialScript } from "./trial-script.ts";

/** In how many of a hundred scripts an option is on. */
const share = { exactlyOnceSubscription: 35, exactlyOnce: 40, dedupe: 40 };

export function randomScript(seed: number): TrialScript {
  const choose = choicesOf(seed);
  const messages = choose(100, 500);
  const publishMs = chance(choose, 30) ? 0 : choose(300, 2000);
  return {
    messages,
    unreadable: chance(choose, 40) ? choose(1, 15) : 0,
    refused: chance(choose, 40) ? choose(1, 15) : 0,
    ...(chance(choose, 40) && { named: choose(0, 2) }),
    keys: chance(choose, 40) ? choose(1, 40) : 0,
    exactlyOnceSubscription: chance(choose, share.exactlyOnceSubscription),
    pipeline: randomPipeline(choose),
    publishMs,
    faults: {
      pubsub: times(choose(0, 3), () => randomPubSubFault(choose)),
      bigquery: withOneQuota(times(choose(0, 4), () => randomBigQueryFault(choose))),
    },
    events: times(chance(choose, 60) ? choose(1, 3) : 0, () => ({
      atMs: choose(300, publishMs + 1500),
      kind: pick(choose, eventKinds satisfies readonly EventKind[]),
    })).toSorted((a, b) => a.atMs - b.atMs),
  };
}

function randomPipeline(choose: Choose): PipelineOptions {
  const maxConnections = choose(1, 3);
  return {
    ...(chance(choose, share.exactlyOnce) && { delivery: "exactlyOnce" }),
    ...(chance(choose, share.dedupe) && { dedupe: { window: "10m", maxIds: 100_000 } }),
    batch: { maxRows: pick(choose, [1, 3, 10, 50, 50_000]), maxDelay: pick(choose, ["0ms", "5ms", "20ms", "100ms"]) },
    append: { maxInFlight: choose(1, 8), minConnections: choose(1, maxConnections), maxConnections },
    pull: { streams: choose(1, 2), maxOutstandingMessages: pick(choose, [20, 100, 20_000]) },
    schemaRefreshInterval: pick(choose, ["1s", "60s"]),
  };
}

/** When: a call or a few, or now and then. Always few enough that the work gets done. */
function randomTiming(choose: Choose): Pick<Fault, "call" | "probability" | "seed" | "burst" | "untilMs"> {
  if (chance(choose, 60)) {
    const first = choose(1, 12);
    return { call: chance(choose, 50) ? first : `${first}-${first + choose(1, 4)}` };
  }
  const burst = chance(choose, 40) ? { burst: choose(2, 4) } : {};
  return { probability: choose(2, 15) / 100, seed: choose(1, 1_000_000), untilMs: choose(1000, 5000), ...burst };
}

function randomPubSubFault(choose: Choose): Fault {
  const timing = randomTiming(choose);
  const method = pick(choose, [
    "StreamingPull",
    "StreamingPull.deliver",
    "StreamingPull.message",
    "Acknowledge",
    "Acknowledge",
    "ModifyAckDeadline",
    "Publish",
  ]);
  const status = pick(choose, ["UNAVAILABLE", "INTERNAL", "ABORTED", "DEADLINE_EXCEEDED"] as const);
  const ending = pick(choose, ["before", "after"] as const);
  const effects: Partial<Fault>[] = [
    { status },
    { disconnect: ending },
    { reset: ending },
    { delayMs: choose(20, 1500) },
    { goaway: true },
  ];
  if (["Acknowledge", "ModifyAckDeadline", "Publish"].includes(method)) effects.push({ status, done: true });
  if (["Acknowledge", "ModifyAckDeadline"].includes(method)) {
    const code = pick(choose, ["TRANSIENT_FAILURE_OTHER", "PERMANENT_FAILURE_INVALID_ACK_ID"]);
    effects.push({ ackErrors: { code, every: choose(1, 5) } });
  }
  return { method, ...timing, ...pick(choose, effects) };
}

function randomBigQueryFault(choose: Choose): Fault {
  const timing = randomTiming(choose);
  const status = pick(choose, ["UNAVAILABLE", "INTERNAL", "ABORTED", "CANCELLED", "RESOURCE_EXHAUSTED"] as const);
  if (chance(choose, 12)) return { method: "tables.get", ...timing, status };
  const ending = pick(choose, ["before", "after"] as const);
  const error = { status, message: "Scripted refusal" };
  const effect = pick<Partial<Fault>>(choose, [
    { status },
    { status, done: true },
    { error },
    { disconnect: ending },
    { reset: ending },
    { delayMs: choose(10, 1500) },
    { goaway: true },
  ]);
  return { method: "AppendRows", ...timing, ...effect };
}

/** Pauses double with each call that a quota refuses: nine of them in a row would take eight minutes. */
function withOneQuota(faults: readonly Fault[]): Fault[] {
  const first = faults.find(refusesByQuota);
  return faults.map((fault): Fault => {
    if (fault === first || !refusesByQuota(fault)) return fault;
    const status = "UNAVAILABLE";
    return fault.error ? { ...fault, error: { ...fault.error, status } } : { ...fault, status };
  });
}

function refusesByQuota({ method, call, status, error }: Fault): boolean {
  return method === "AppendRows" && call !== undefined && (status ?? error?.status) === "RESOURCE_EXHAUSTED";
}
