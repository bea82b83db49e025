/**
 * Faults on demand: a script of what goes wrong at which call, for both embedded servers.
 *
 * Calls are counted per method from 1, over the life of the server. Of a stream, every request message is a call.
 */
import { z } from "zod";

const callNumbers = z.union([
  z.int().min(1),
  z.string().regex(/^\d+-(\d+)?$/, 'Expected a range of calls: "3-5", or "3-" for the third and all after it'),
  z.literal("all"),
]);

const fault = z.strictObject({
  /** Method name without its service, such as `AppendRows`. */
  method: z.string(),
  call: callNumbers,
  /** Answers the call with this gRPC status (by name, such as `UNAVAILABLE`); of a stream, ends it. */
  status: z.string().optional(),
  message: z.string().optional(),
  /** Answers that much later. */
  delayMs: z.int().min(0).optional(),
  /** Cuts the connection without an answer. `after`: the request has taken effect, `before`: it has not. */
  disconnect: z.enum(["before", "after"]).optional(),
  /** AppendRows: refuses the request, naming these rows. */
  rowErrors: z.array(z.strictObject({ index: z.int().min(0), message: z.string() })).optional(),
  /** AppendRows: refuses the request in its answer with this status; the stream stays open. */
  error: z.strictObject({ status: z.string(), message: z.string(), storageError: z.string().optional() }).optional(),
});

export type Fault = z.infer<typeof fault>;

/** The form of a fault file (`millrace emulator --faults FILE`). */
export const faultScript = z.strictObject({
  pubsub: z.array(fault).default([]),
  bigquery: z.array(fault).default([]),
});

export type FaultScript = z.infer<typeof faultScript>;

/** Counts calls and says which fault, if any, is due. */
export class Faults {
  #script: readonly Fault[];
  readonly #calls = new Map<string, number>();

  constructor(script: readonly Fault[] = []) {
    this.#script = script;
  }

  /** Replaces the script; counting starts again. */
  replace(script: readonly Fault[]): void {
    this.#script = script;
    this.#calls.clear();
  }

  /** Counts one call of the method and returns the fault scripted for it. */
  next(method: string): Fault | undefined {
    const number = (this.#calls.get(method) ?? 0) + 1;
    this.#calls.set(method, number);
    return this.#script.find((entry) => entry.method === method && covers(entry.call, number));
  }

  /** How often the method was called. */
  calls(method: string): number {
    return this.#calls.get(method) ?? 0;
  }
}

function covers(call: Fault["call"], number: number): boolean {
  if (call === "all") return true;
  if (typeof call === "number") return call === number;
  const [first, last] = call.split("-");
  return number >= Number(first) && (last === "" || number <= Number(last));
}
