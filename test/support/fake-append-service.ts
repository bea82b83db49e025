/** AppendRows without a network: what was sent is read by Google's definitions, answers come as the test says. */
import type { CallEnd, CallEvents, OpenCall } from "../../src/bigquery/append-call.ts";
import { storageProtos } from "../../src/lib/protos.ts";

const prefix = "google.cloud.bigquery.storage.v1.";

/** An answer in the form of `AppendRowsResponse`. */
export interface FakeAnswer {
  readonly error?: { readonly code: number; readonly message?: string; readonly storageError?: number };
  readonly rowErrors?: readonly { readonly index: number; readonly message: string }[];
  readonly updatedSchema?: object;
}

export const stored: FakeAnswer = {};

/** One request as the server sees it. */
export interface SentRequest {
  /** Number of its connection, from 0. */
  readonly call: number;
  /** As the request names it; empty when it does not. */
  readonly writeStream: string;
  /** Name of the stream that its connection was opened to. */
  readonly openedTo: string;
  /** Undefined when it has none. */
  readonly offset: number | undefined;
  readonly traceId: string;
  /** Text of the writer schema that came with it; empty when none did. */
  readonly schema: string;
  readonly missingValues: number;
  /** Payloads of the rows, as `FakeTranscoder` writes them. */
  readonly rows: readonly string[];
  readonly byteLength: number;
  answer(answer?: FakeAnswer): void;
  /** The connection ends with this status. */
  end(end: Partial<CallEnd>): void;
}

export class FakeAppendService {
  readonly requests: SentRequest[] = [];
  /** Answers requests as they come; undefined leaves one to the test. */
  react: ((request: SentRequest) => FakeAnswer | undefined) | undefined;
  calls = 0;
  /** Connections that the client has half-closed or cut. */
  closed = 0;

  readonly openCall: OpenCall = (events, openedTo) => {
    const call = this.calls++;
    let ended = false;
    const end = (how: CallEnd): void => {
      if (ended) return;
      ended = true;
      events.ended(how);
    };
    return {
      write: (bytes) => {
        const request = this.#read({ call, openedTo }, Buffer.from(bytes), events, (how) =>
          end({ ...unknownEnd, ...how }),
        );
        this.requests.push(request);
        const answer = this.react?.(request);
        if (answer) queueMicrotask(() => request.answer(answer));
      },
      end: () => {
        this.closed++;
      },
      cancel: () => {
        this.closed++;
        end({ code: 1, message: "cancelled", storageError: 0 });
      },
    };
  };

  /** Every row that any request brought, in order. */
  get rows(): string[] {
    return this.requests.flatMap((request) => request.rows);
  }

  #read(
    connection: { readonly call: number; readonly openedTo: string },
    bytes: Buffer,
    events: CallEvents,
    end: (end: Partial<CallEnd>) => void,
  ): SentRequest {
    const type = storageProtos().lookupType(`${prefix}AppendRowsRequest`);
    const message = type.toObject(type.decode(bytes), { defaults: true, arrays: true }) as {
      writeStream: string;
      offset: { value: { toString(): string } } | null;
      traceId: string;
      defaultMissingValueInterpretation: number;
      protoRows: {
        writerSchema: { protoDescriptor: { name: string } } | null;
        rows: { serializedRows: Uint8Array[] };
      };
    };
    return {
      ...connection,
      writeStream: message.writeStream,
      offset: message.offset ? Number(message.offset.value.toString()) : undefined,
      traceId: message.traceId,
      schema: message.protoRows.writerSchema?.protoDescriptor.name ?? "",
      missingValues: message.defaultMissingValueInterpretation,
      rows: message.protoRows.rows.serializedRows.map((row) => Buffer.from(row.subarray(2)).toString()),
      byteLength: bytes.length,
      answer: (answer = stored) => events.answered(answerBytes(answer)),
      end,
    };
  }
}

const unknownEnd: CallEnd = { code: 14, message: "connection lost", storageError: 0 };

/** Serialized by Google's definitions. */
export function answerBytes({ error, rowErrors, updatedSchema }: FakeAnswer): Buffer {
  const type = storageProtos().lookupType(`${prefix}AppendRowsResponse`);
  const details = error?.storageError === undefined ? [] : [storageErrorDetail(error.storageError)];
  const message = type.fromObject({
    ...(error ? { error: { code: error.code, message: error.message, details } } : { appendResult: {} }),
    ...(rowErrors ? { rowErrors } : {}),
    ...(updatedSchema ? { updatedSchema } : {}),
  });
  return Buffer.from(type.encode(message).finish());
}

function storageErrorDetail(code: number): object {
  const type = storageProtos().lookupType(`${prefix}StorageError`);
  return {
    type_url: `type.googleapis.com/${prefix}StorageError`,
    value: type.encode(type.fromObject({ code, entity: "e", errorMessage: "m" })).finish(),
  };
}
