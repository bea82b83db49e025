/**
 * Faults on demand: a script of what goes wrong at which call, for both embedded servers.
 *
 * Calls are counted per method from 1, over the life of the server. Of a stream, every request message is a call, the
 * opening one included. Of StreamingPull, the responses that bring messages are counted as `StreamingPull.deliver`, and
 * those messages as `StreamingPull.message`.
 */
import { status } from "@grpc/grpc-js";
import { z } from "zod";
import { SetupError } from "../errors.ts";
import { systemClock, type Clock } from "../lib/clock.ts";
import { FaultTiming } from "./fault-timing.ts";

const callNumbers = z.union([
  z.int().min(1),
  z.string().regex(/^\d+-(\d+)?$/, 'Expected a range of calls: "3-5", or "3-" for the third and all after it'),
  z.literal("all"),
]);

type StatusName = Exclude<keyof typeof status, "OK">;
const statusName = z.enum(
  Object.keys(status).filter((name): name is StatusName => Number.isNaN(Number(name)) && name !== "OK"),
);

const hexadecimal = z.string().regex(/^([0-9a-f]{2})+$/i, "Expected bytes in hexadecimal, two digits each");

const ackFailure = z
  .string()
  .regex(/^(TRANSIENT|PERMANENT)_FAILURE_[A-Z_]+$/, "Expected TRANSIENT_FAILURE_… or PERMANENT_FAILURE_…");

/** Whether the request has taken effect when the fault comes. */
const beforeOrAfter = z.enum(["before", "after"]);

const milliseconds = z.int().min(0);

const fault = z
  .strictObject({
    /** Method name without its service, such as `AppendRows`. */
    method: z.string(),

    call: callNumbers.optional(),
    every: z.int().min(1).optional(),
    probability: z.number().gt(0).max(1).optional(),
    seed: z.int().optional(),
    fromMs: milliseconds.optional(),
    untilMs: milliseconds.optional(),
    burst: z.int().min(1).optional(),

    /** Answers the call with this gRPC status (by name, such as `UNAVAILABLE`); of a stream, ends it. */
    status: statusName.optional(),
    message: z.string().optional(),
    /** Answers that much later. */
    delayMs: milliseconds.optional(),
    /** The request takes effect before `delayMs` begins and `status` is answered. */
    done: z.literal(true).optional(),
    /** Cuts the connection without an answer. */
    disconnect: beforeOrAfter.optional(),
    /** Cuts the connection by a TCP reset: the other side sees an error, not an end. */
    reset: beforeOrAfter.optional(),
    /** Never answers, and keeps the connection; a stream falls silent for good. */
    hang: beforeOrAfter.optional(),
    /** Asks the client to leave the connection (GOAWAY), as a front end does that restarts; the call goes on. */
    goaway: z.literal(true).optional(),
    /** AppendRows: refuses the request, naming these rows. */
    rowErrors: z.array(z.strictObject({ index: z.int().min(0), message: z.string() })).optional(),
    /**
     * AppendRows: refuses the request if there are rows in which these bytes (in hexadecimal) stand, and names them.
     * `atMost`: so many of them, as BigQuery may leave some unnamed; 0: none.
     */
    rowErrorsContaining: z
      .strictObject({ bytes: hexadecimal, message: z.string(), atMost: z.int().min(0).optional() })
      .optional(),
    /** AppendRows: refuses the request in its answer with this status; the stream stays open. */
    error: z.strictObject({ status: statusName, message: z.string(), storageError: z.string().optional() }).optional(),
    /**
     * Acknowledge, ModifyAckDeadline, StreamingPull: these ack IDs have no effect and are answered as exactly-once
     * delivery answers. `every`: the n-th of each request, the 2n-th, …; absent: all.
     */
    ackErrors: z.strictObject({ code: ackFailure, every: z.int().min(1).optional() }).optional(),
  })
  .superRefine((entry, context) => {
    const problem = problemOf(entry);
    if (problem) context.addIssue({ code: "custom", message: problem });
  });

export type Fault = z.infer<typeof fault>;

/** The form of a fault file (`millrace emulator --faults FILE`). */
export const faultScript = z.strictObject({
  pubsub: z.array(fault).default([]),
  bigquery: z.array(fault).default([]),
});

export type FaultScript = z.infer<typeof faultScript>;

/** Keys that make something happen. */
const effects = [
  "status",
  "delayMs",
  "disconnect",
  "reset",
  "hang",
  "goaway",
  "rowErrors",
  "rowErrorsContaining",
  "error",
  "ackErrors",
] as const satisfies readonly (keyof Fault)[];

/** Keys with which the call ends: one at most. */
const endings = ["status", "disconnect", "reset", "hang"] as const satisfies readonly (keyof Fault)[];

/** Keys that mean something to some methods only. */
const methodsOf: Readonly<Partial<Record<keyof Fault, readonly string[]>>> = {
  rowErrors: ["AppendRows"],
  rowErrorsContaining: ["AppendRows"],
  error: ["AppendRows"],
  ackErrors: ["Acknowledge", "ModifyAckDeadline", "StreamingPull"],
};

/** What makes a fault meaningless, beside the form of its values. */
function problemOf(entry: Fault): string | undefined {
  const given = (keys: readonly (keyof Fault)[]): string[] => keys.filter((key) => entry[key] !== undefined);
  const elsewhere = given(Object.keys(methodsOf) as (keyof Fault)[]).find(
    (key) => !methodsOf[key as keyof Fault]!.includes(entry.method),
  );
  if (given(effects).length === 0) return `does nothing: expected one of ${effects.join(", ")}`;
  if (given(endings).length > 1) return `has ${given(endings).join(" and ")}: a call ends in one way`;
  if (elsewhere) return `has ${elsewhere}, which is for ${methodsOf[elsewhere as keyof Fault]!.join(", ")}`;
  if (entry.message !== undefined && !entry.status) return "has a message without a status";
  if (entry.done && !entry.status && !entry.delayMs) return "has done without status or delayMs";
  if (entry.seed !== undefined && entry.probability === undefined) return "has a seed without a probability";
  if (isEmptyRange(entry.call)) return "has a range of calls that ends before its beginning; the first call is 1";
  if ((entry.fromMs ?? 0) >= (entry.untilMs ?? Infinity)) return "has fromMs that is not before untilMs";
  return undefined;
}

/** `"5-3"`, or `"0-0"`: no call has such a number. */
function isEmptyRange(call: number | string | undefined): boolean {
  const [, first, last] = typeof call === "string" ? (/^(\d+)-(\d+)$/.exec(call) ?? []) : [];
  return last !== undefined && Number(last) < Math.max(1, Number(first));
}

interface Scripted {
  readonly fault: Fault;
  readonly timing: FaultTiming;
}

/** Counts calls and says which fault, if any, is due. */
export class Faults {
  readonly #methods: readonly string[] | undefined;
  readonly #clock: Clock;
  readonly #byMethod = new Map<string, Scripted[]>();
  readonly #calls = new Map<string, number>();
  #setAtMs = 0;

  /**
   * @param methods where faults can be; absent: anywhere
   * @param clock by which `fromMs` and `untilMs` go
   * @throws SetupError when the script has a fault that can never come or does nothing
   */
  constructor(script: readonly Fault[] = [], methods?: readonly string[], clock: Clock = systemClock) {
    this.#methods = methods;
    this.#clock = clock;
    this.replace(script);
  }

  /** Replaces the script; counting, and time, start again. */
  replace(script: readonly Fault[]): void {
    for (const entry of script) this.#check(entry);
    this.#byMethod.clear();
    for (const [place, entry] of script.entries()) {
      const scripted = { fault: entry, timing: new FaultTiming(entry, place) };
      const before = this.#byMethod.get(entry.method);
      if (before) before.push(scripted);
      else this.#byMethod.set(entry.method, [scripted]);
    }
    this.#calls.clear();
    this.#setAtMs = this.#clock.monotonic();
  }

  /** Counts one call of the method and returns the fault scripted for it. */
  next(method: string): Fault | undefined {
    const number = this.calls(method) + 1;
    this.#calls.set(method, number);
    const elapsedMs = this.#clock.monotonic() - this.#setAtMs;
    return this.#byMethod.get(method)?.find(({ timing }) => timing.isDue(number, elapsedMs))?.fault;
  }

  /**
   * Counts calls up to the first that has a fault, at most `count` of them.
   *
   * @returns that fault, and how many of the calls come before it
   */
  nextAmong(method: string, count: number): { readonly fault: Fault; readonly before: number } | undefined {
    if (!this.#byMethod.has(method)) {
      this.#calls.set(method, this.calls(method) + count);
      return undefined;
    }
    for (let before = 0; before < count; before++) {
      const due = this.next(method);
      if (due) return { fault: due, before };
    }
    return undefined;
  }

  /** How often the method was called. */
  calls(method: string): number {
    return this.#calls.get(method) ?? 0;
  }

  #check(entry: Fault): void {
    if (this.#methods && !this.#methods.includes(entry.method)) {
      throw new SetupError(
        `Fault script: there is no method ${entry.method}; expected one of ${this.#methods.join(", ")}`,
      );
    }
    const problem = problemOf(entry);
    if (problem) throw new SetupError(`Fault script: the fault of ${entry.method} ${problem}`);
  }
}
