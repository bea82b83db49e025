/** CreateWriteStream and FinalizeWriteStream without a network, over streams that keep offsets as Google describes them. */
import type { CallEnd } from "../../src/bigquery/append-call.ts";
import type { CallResult, WriteStreamCalls, WriteStreamType } from "../../src/bigquery/write-stream-calls.ts";
import type { FakeAnswer, SentRequest } from "./fake-append-service.ts";
import { ModelWriteStream } from "./model-write-stream.ts";

const prefix = "projects/p/datasets/d/tables/t/streams/";
const pending = "pending";

/** A write stream's rows are never in the table. */
export function isPending(writeStream: string): boolean {
  return writeStream.startsWith(`${prefix}${pending}`);
}

const codes = { exists: 6, beyond: 11, lost: 3, refused: 3 } as const;
const storageErrors = { exists: 8, beyond: 9, lost: 6 } as const;

export class FakeWriteStreams implements WriteStreamCalls {
  /** Name → committed stream, in the order of their creation. */
  readonly streams = new Map<string, ModelWriteStream>();
  /** How calls fail, one after the other; undefined: this one does not. */
  readonly creationFailures: (Partial<CallEnd> | undefined)[] = [];
  readonly finalizationFailures: (Partial<CallEnd> | undefined)[] = [];
  /** Streams check rows before offsets. */
  rowsFirst = false;
  creations = 0;
  /** Pending streams that were created. */
  trials = 0;
  /** Names of streams that were finalized, once for each call. */
  readonly finalizations: string[] = [];
  isClosed = false;

  get names(): string[] {
    return [...this.streams.keys()];
  }

  /** Rows of all streams. */
  get rows(): string[] {
    return [...this.streams.values()].flatMap(({ rows }) => rows);
  }

  async create(type: WriteStreamType): Promise<CallResult<string>> {
    if (type === "PENDING") return this.#createPending();
    this.creations++;
    await Promise.resolve();
    const failure = this.creationFailures.shift();
    if (failure) return { failure: { ...unavailable, ...failure } };
    const name = `${prefix}s${this.streams.size}`;
    this.streams.set(name, new ModelWriteStream(this.rowsFirst));
    return { value: name };
  }

  async #createPending(): Promise<CallResult<string>> {
    await Promise.resolve();
    return { value: `${prefix}${pending}${this.trials++}` };
  }

  async finalize(name: string): Promise<CallResult<number>> {
    this.finalizations.push(name);
    await Promise.resolve();
    const failure = this.finalizationFailures.shift();
    if (failure) return { failure: { ...unavailable, ...failure } };
    const stream = this.streams.get(name);
    if (!stream) return { failure: { code: 5, message: "no such stream", storageError: 3 } };
    stream.finalized = true;
    return { value: stream.rows.length };
  }

  close(): void {
    this.isClosed = true;
  }

  /**
   * Lets a request take effect, unless its rows are refused. Returns what the server answers. Nothing comes of rows in a
   * pending stream.
   *
   * @param refusal answer to rows that the table does not take
   */
  append({ openedTo, offset, rows }: SentRequest, refusal?: FakeAnswer): FakeAnswer {
    if (isPending(openedTo)) return refusal ?? {};
    const stream = this.streams.get(openedTo);
    if (!stream) return { error: { code: 5, message: "no such stream", storageError: 3 } };
    if (offset === undefined) throw new Error("a request to a stream of our own has no offset");
    const result = stream.append({ offset, rows }, refusal !== undefined);
    if (result === "stored") return {};
    if (result === "refused") return refusal ?? { error: { code: codes.refused, message: "extra", storageError: 7 } };
    return { error: { code: codes[result], message: result, storageError: storageErrors[result] } };
  }
}

const unavailable: CallEnd = { code: 14, message: "unavailable", storageError: 0 };
