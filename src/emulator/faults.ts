/**
 * Faults on demand: a script of what goes wrong at which call, for both embedded servers.
 *
 * Calls are counted per method from 1, over the life of the server. Of a stream, every request message is a call, the
 * opening one included; the responses of StreamingPull that bring messages are counted as `StreamingPull.deliver`.
 */
import { status } from "@grpc/grpc-js";
import { z } from "zod";
import { SetupError } from "../errors.ts";

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

const fault = z.strictObject({
  /** Method name without its service, such as `AppendRows`. */
  method: z.string(),
  call: callNumbers,
  /** Answers the call with this gRPC status (by name, such as `UNAVAILABLE`); of a stream, ends it. */
  status: statusName.optional(),
  message: z.string().optional(),
  /** Answers that much later. */
  delayMs: z.int().min(0).optional(),
  /** Cuts the connection without an answer. `after`: the request has taken effect, `before`: it has not. */
  disconnect: z.enum(["before", "after"]).optional(),
  /** AppendRows: refuses the request, naming these rows. */
  rowErrors: z.array(z.strictObject({ index: z.int().min(0), message: z.string() })).optional(),
  /** AppendRows: refuses the request, naming the rows in which these bytes (in hexadecimal) stand, if there are any. */
  rowErrorsContaining: z.strictObject({ bytes: hexadecimal, message: z.string() }).optional(),
  /** AppendRows: refuses the request in its answer with this status; the stream stays open. */
  error: z.strictObject({ status: statusName, message: z.string(), storageError: z.string().optional() }).optional(),
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
  #script: readonly Fault[] = [];
  readonly #methods: readonly string[] | undefined;
  readonly #calls = new Map<string, number>();

  /**
   * @param methods where faults can be; absent: anywhere
   * @throws SetupError when the script has a fault for another method: it would never come
   */
  constructor(script: readonly Fault[] = [], methods?: readonly string[]) {
    this.#methods = methods;
    this.replace(script);
  }

  /** Replaces the script; counting starts again. */
  replace(script: readonly Fault[]): void {
    const unknown = script.find((entry) => this.#methods && !this.#methods.includes(entry.method));
    if (unknown) {
      throw new SetupError(
        `Fault script: there is no method ${unknown.method}; expected one of ${this.#methods?.join(", ")}`,
      );
    }
    this.#script = script;
    this.#calls.clear();
  }

  /** Counts one call of the method and returns the fault scripted for it. */
  next(method: string): Fault | undefined {
    const number = this.calls(method) + 1;
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
