/** What comes behind a row in its ordering key, as rows that can be put on trial. */
import { RowBatch } from "../write/row-batch.ts";
import { AppendRequest } from "./append-request.ts";
import { transcodeContained } from "./contained-transcoding.ts";
import type { WaitingMessage } from "./key-lane.ts";
import { PendingRows } from "./pending-rows.ts";

/** So many at a time. Where they begin is chance, so that in the end each has its turn. */
const most = 16;

/**
 * Some of the rows that wait behind the only row of a request, and of the messages behind those, each as a request of
 * its own that can be sent without an effect on the batches and keys they come from.
 *
 * @param random from 0 (inclusive) to 1
 */
export function rowsBehind(request: AppendRequest, random: () => number): AppendRequest[] {
  const { pending } = request;
  const row = request.row(0);
  const lane = pending.laneOf(row);
  if (!lane || request.rowCount !== 1 || pending.isGone(row)) return [];
  const behind = [...lane.rowsBehind(row), ...lane.waiting()];
  const from = Math.floor(random() * behind.length);
  const some = [...behind.slice(from), ...behind.slice(0, from)].slice(0, most);
  const rows = some.filter((each) => typeof each === "number");
  const messages = some.filter((each) => typeof each !== "number");
  return [...rows.map((each) => new AppendRequest(pending, 0, 0, [each])), ...transcoded(messages, pending)];
}

/** Messages as rows of a batch that belongs to nobody; those that cannot be rows are left out. */
function transcoded(messages: readonly WaitingMessage[], { transcoder, rows }: PendingRows): AppendRequest[] {
  if (messages.length === 0) return [];
  const scratch = new RowBatch({ ...rows.limits, maxRows: most });
  for (const { delivery, message } of messages) {
    transcodeContained(transcoder, delivery.batch, message, message + 1, scratch, () => undefined);
  }
  const pending = new PendingRows(scratch, transcoder, () => undefined);
  return Array.from({ length: scratch.rowCount }, (_, row) => new AppendRequest(pending, 0, 0, [row]));
}
