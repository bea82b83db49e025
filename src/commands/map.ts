/** `millrace map`: the row that each message would become, or why it would be refused. Writes nothing. */
import { createReadStream } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import type { Refusal } from "../errors.ts";
import { unreadable } from "../lib/read-file.ts";
import { planMapping } from "../mapping/mapping-plan.ts";
import { rowJson } from "../transcode/row-view.ts";
import { createTranscoder, type Transcoder } from "../transcode/transcoder.ts";
import { RowBatch } from "../write/row-batch.ts";
import { readMappingRequest, type MappingFlags, type MappingRequest } from "./mapping-request.ts";
import { messageBatches, type LineBatch } from "./message-lines.ts";
import { planView } from "./plan-view.ts";

export interface MapFlags extends MappingFlags {
  /** Each line is itself the payload. */
  readonly raw?: boolean;
  /** Adds the serialized row, in hex. */
  readonly wire?: boolean;
  /** Prints the descriptor of the rows and stops. */
  readonly descriptor?: boolean;
  /** Prints the compiled plan and stops. */
  readonly printTranscoder?: boolean;
}

/**
 * @param files names of input files; `-` is standard input
 * @returns the exit status: 0, or 1 when a message was refused
 * @throws MillraceError when the mapping itself cannot be
 */
export async function map(files: readonly string[], flags: MapFlags): Promise<number> {
  const request = await readMappingRequest(flags);
  const transcoder = createTranscoder(request.table, request.options);
  if (flags.descriptor) return print(transcoder.descriptor.json);
  if (flags.printTranscoder) return print(planView(planMapping(request.table, request.options)));
  const inputs = await openInputs(files, flags.raw ?? false);
  const answers = new Answers(request, transcoder, flags.wire ?? false);
  for (const { name, chunks } of inputs) {
    for await (const batch of messageBatches(chunks(), name, flags.raw ?? false)) await write(answers.of(batch));
  }
  return answers.refused ? 1 : 0;
}

async function print(value: object): Promise<number> {
  await write(`${JSON.stringify(value, undefined, 2)}\n`);
  return 0;
}

interface Input {
  readonly name: string;
  readonly chunks: () => AsyncIterable<Buffer>;
}

/**
 * Looks at the whole input before anything is answered, since a line that is no message is a fault of the call. A file is read twice for
 * that; what can be read once only is held, unless its lines are payloads, which need no look.
 */
async function openInputs(files: readonly string[], raw: boolean): Promise<readonly Input[]> {
  const inputs: Input[] = [];
  for (const file of files) inputs.push(file === "-" ? await standardInput(raw) : await fileInput(file, raw));
  if (raw) return inputs;
  for (const { name, chunks } of inputs) {
    const batches = messageBatches(chunks(), name, raw);
    while (!(await batches.next()).done);
  }
  return inputs;
}

async function standardInput(raw: boolean): Promise<Input> {
  return { name: "standard input", chunks: raw ? () => process.stdin : await hold(process.stdin) };
}

async function fileInput(name: string, raw: boolean): Promise<Input> {
  const read = (): AsyncIterable<Buffer> => createReadStream(name, { highWaterMark: 256 * 1024 });
  try {
    await access(name, constants.R_OK);
    const kind = await stat(name);
    const chunks = kind.isFile() || (raw && !kind.isDirectory()) ? read : await hold(read());
    return { name, chunks };
  } catch (error) {
    throw unreadable(name, error);
  }
}

/** Reads everything, and gives it as often as it is asked for. */
async function hold(chunks: AsyncIterable<Buffer>): Promise<() => AsyncIterable<Buffer>> {
  const held: Buffer[] = [];
  for await (const chunk of chunks) held.push(chunk);
  return async function* all() {
    yield* held;
  };
}

/** Rows and refusals of batches, as lines of JSON. */
class Answers {
  refused = false;
  readonly #request: MappingRequest;
  readonly #transcoder: Transcoder;
  readonly #wire: boolean;
  readonly #rows: RowBatch;

  constructor(request: MappingRequest, transcoder: Transcoder, wire: boolean) {
    this.#request = request;
    this.#transcoder = transcoder;
    this.#wire = wire;
    const { maxRequestBytes } = request;
    this.#rows = new RowBatch({ maxBytes: Math.min(1024 * 1024, maxRequestBytes), maxRows: 1000, maxRequestBytes });
  }

  /** One line for each message, in order. */
  of(batch: LineBatch): string {
    let text = "";
    for (let from = 0; from < batch.length;) {
      this.#rows.clear();
      const { next, refusals } = this.#transcoder.transcode(batch, from, batch.length, this.#rows);
      if (refusals.size > 0) this.refused = true;
      let row = 0;
      for (let message = from; message < next; message++) {
        const refusal = refusals.get(message);
        const messageId = JSON.stringify(batch.messageId(message));
        text += `{"messageId":${messageId},${refusal ? refusalMember(refusal) : this.#rowMembers(row++)}}\n`;
      }
      from = next;
    }
    return text;
  }

  #rowMembers(row: number): string {
    const { table, options } = this.#request;
    const bytes = this.#rows.writer.bytes;
    const start = this.#rows.payloadStart(row);
    const end = this.#rows.rowEnd(row);
    const json = rowJson(table, options.missingValues, bytes, start, end);
    return `"row":${json}${this.#wire ? `,"wire":"${bytes.toString("hex", start, end)}"` : ""}`;
  }
}

function refusalMember({ code, path, message }: Refusal): string {
  return `"error":${JSON.stringify({ code, path, message })}`;
}

/** Writes to standard output, and waits when its reader is slow. */
function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
