/**
 * With what a row can be compared in a trial: what comes behind it in its ordering key, if it has one, and what was
 * delivered with it. These have no effect on it otherwise: the first ones wait for it, and the others may be stored already,
 * though by another schema of the table, or have been given back with keys of their own.
 */
import { RowBatch } from "../write/row-batch.ts";
import { AppendRequest } from "./append-request.ts";
import { transcodeContained } from "./contained-transcoding.ts";
import type { Delivery } from "./delivery.ts";
import { PendingRows } from "./pending-rows.ts";

interface Message {
  readonly delivery: Delivery;
  /** Its index in the delivery's batch. */
  readonly message: number;
}

/** So many of each kind at a time. Where they begin is chance, so that in the end each has its turn. */
const most = 16;

/**
 * Rows to be compared with the only row of a request, each as a request of its own that can be sent without an effect on
 * the batches and keys they come from.
 *
 * @param random from 0 (inclusive) to 1
 */
export function comparableRows(request: AppendRequest, random: () => number): AppendRequest[] {
  const { pending } = request;
  const row = request.row(0);
  const lane = pending.laneOf(row);
  if (pending.isGone(row)) return [];
  const delivery = pending.deliveryOf(row);
  const itself = pending.rows.messageOf(row);
  const all = Array.from({ length: delivery.batch.length }, (_, message) => ({ delivery, message }));
  const neighbours = all.filter(({ message }) => message !== itself);
  const behind = lane ? some([...lane.rowsBehind(row), ...lane.waiting()], random) : [];
  const rows = behind.filter((each) => typeof each === "number");
  const messages: Message[] = behind.filter((each) => typeof each !== "number");
  messages.push(...some(neighbours, random));
  return [...rows.map((each) => new AppendRequest(pending, 0, 0, [each])), ...transcoded(messages, pending)];
}

function some<T>(from: readonly T[], random: () => number): T[] {
  const first = Math.floor(random() * from.length);
  return [...from.slice(first), ...from.slice(0, first)].slice(0, most);
}

/** Messages as rows of a batch that belongs to nobody; those that cannot be rows are left out. */
function transcoded(messages: readonly Message[], { transcoder, rows }: PendingRows): AppendRequest[] {
  if (messages.length === 0) return [];
  const scratch = new RowBatch({ ...rows.limits, maxRows: messages.length });
  for (const { delivery, message } of messages) {
    transcodeContained(transcoder, delivery.batch, message, message + 1, scratch, () => undefined);
  }
  const pending = new PendingRows(scratch, transcoder, () => undefined);
  return Array.from({ length: scratch.rowCount }, (_, row) => new AppendRequest(pending, 0, 0, [row]));
}
