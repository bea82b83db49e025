/**
 * Whether BigQuery takes rows, found out without writing them: they are appended to a pending write stream that is
 * never committed. So the order of rows in the table stays as it is, and so does the table.
 */
import { Alarm } from "../lib/alarm.ts";
import type { Clock } from "../lib/clock.ts";
import type { AppendAnswer } from "./append-answer.ts";
import type { OpenCall } from "./append-call.ts";
import { classify } from "./append-error.ts";
import type { AppendRequest } from "./append-request.ts";
import { AppendStream } from "./append-stream.ts";
import type { WriteStreamCalls } from "./write-stream-calls.ts";

export interface RowTrialOptions {
  readonly openCall: OpenCall;
  readonly calls: WriteStreamCalls;
  /** Of the form `A:B`. */
  readonly traceId: string;
  readonly clock: Clock;
}

/** `unclear`: there was no answer, or one that says nothing of the rows. */
export type TrialVerdict = "taken" | "refused" | "unclear";

/** Longer nobody waits for what a trial may say. */
const timeoutMs = 10_000;

export class RowTrial {
  readonly #options: RowTrialOptions;
  readonly #closing = new AbortController();
  /** The pending stream; another is created when it does not answer as it should. */
  #writeStream: string | undefined;
  #end: (() => void) | undefined;

  constructor(options: RowTrialOptions) {
    this.#options = options;
  }

  /** One after the other, on one connection. Only one trial runs at a time. Never rejects. */
  async try(requests: readonly AppendRequest[]): Promise<readonly TrialVerdict[]> {
    const unclear = requests.map((): TrialVerdict => "unclear");
    const writeStream = await this.#opened();
    if (writeStream === undefined) return unclear;
    const verdicts = await this.#append(requests, writeStream);
    const all = [...verdicts, ...unclear.slice(verdicts.length)];
    // BigQuery forgets pending streams after a day, and with their table.
    if (all.includes("unclear")) this.#writeStream = undefined;
    return all;
  }

  close(): void {
    this.#closing.abort();
    this.#end?.();
  }

  async #opened(): Promise<string | undefined> {
    const { signal } = this.#closing;
    if (this.#writeStream === undefined) {
      const result = await this.#options.calls.create("PENDING", signal);
      if ("value" in result) this.#writeStream = result.value;
    }
    return signal.aborted ? undefined : this.#writeStream;
  }

  /** Returns what the answers say, as far as they came. */
  async #append(requests: readonly AppendRequest[], writeStream: string): Promise<TrialVerdict[]> {
    const { clock } = this.#options;
    const verdicts: TrialVerdict[] = [];
    const over = Promise.withResolvers<void>();
    const stream = new AppendStream({
      ...this.#options,
      writeStream,
      answered: (_, __, answer) => {
        verdicts.push(verdictOf(answer));
        if (verdicts.length === requests.length) over.resolve();
      },
      ended: () => over.resolve(),
    });
    const alarm = new Alarm(clock, () => over.resolve());
    alarm.setAt(clock.monotonic() + timeoutMs);
    this.#end = over.resolve;
    for (const request of requests) stream.send(request);
    await over.promise;
    this.#end = undefined;
    alarm.cancel();
    stream.abort();
    return verdicts;
  }
}

function verdictOf(answer: AppendAnswer): TrialVerdict {
  const rowErrors = answer.rowErrors.length;
  if (answer.code === 0 && rowErrors === 0) return "taken";
  const { kind } = classify({ ...answer, scope: "request", rowErrors, hasOffset: false });
  return kind === "isolate" || kind === "rejectRows" ? "refused" : "unclear";
}
