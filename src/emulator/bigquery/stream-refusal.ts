/** What BigQuery answers to requests that do not suit a write stream. */
import { AppendRefusal } from "./append-refusal.ts";
import type { WriteStream } from "./write-stream.ts";

/** @param entity resource name of the stream, here as everywhere below */
export function tableNotFound(entity: string): AppendRefusal {
  return notFound(entity, "TABLE_NOT_FOUND");
}

/** No stream of this name was created, or its life is over. */
export function streamNotFound(entity: string): AppendRefusal {
  return notFound(entity, "STREAM_NOT_FOUND");
}

function notFound(entity: string, code: string): AppendRefusal {
  return new AppendRefusal("NOT_FOUND", `Requested entity was not found. Entity: ${entity}`, { code, entity });
}

export function streamFinalized(entity: string): AppendRefusal {
  const message = `Stream has been finalized and cannot be appended. Entity: ${entity}`;
  return new AppendRefusal("INVALID_ARGUMENT", message, { code: "STREAM_FINALIZED", entity });
}

/** @param message which type the method is for, and which it got */
export function wrongType(entity: string, message: string): AppendRefusal {
  const words = `${message}. Entity: ${entity}`;
  return new AppendRefusal("INVALID_ARGUMENT", words, { code: "INVALID_STREAM_TYPE", entity });
}

/** The refusal of an append at an offset that is not the next one. */
export function wrongOffset(entity: string, expected: number, received: number): AppendRefusal {
  const [status, code, place] =
    received < expected
      ? (["ALREADY_EXISTS", "OFFSET_ALREADY_EXISTS", "within"] as const)
      : (["OUT_OF_RANGE", "OFFSET_OUT_OF_RANGE", "beyond"] as const);
  const message = `The offset is ${place} stream, expected offset ${expected}, received ${received}. Entity: ${entity}`;
  return new AppendRefusal(status, message, { code, entity });
}

/** Why a stream cannot be part of a commit; undefined when it can. */
export function commitRefusal(
  entity: string,
  stream: WriteStream | undefined,
  nowMs: number,
): AppendRefusal | undefined {
  if (!stream) return streamNotFound(entity);
  if (stream.type !== "PENDING") return wrongType(entity, `Only PENDING streams are committed, this is ${stream.type}`);
  if (stream.commitMs !== undefined) {
    const message = `Stream has been committed already. Entity: ${entity}`;
    return new AppendRefusal("FAILED_PRECONDITION", message, { code: "STREAM_ALREADY_COMMITTED", entity });
  }
  if (stream.isExpired(nowMs)) return wrongState(entity, "Stream was not committed in time and is gone");
  return stream.isFinalized ? undefined : wrongState(entity, "Stream must be finalized before it is committed");
}

function wrongState(entity: string, message: string): AppendRefusal {
  const words = `${message}. Entity: ${entity}`;
  return new AppendRefusal("INVALID_ARGUMENT", words, { code: "INVALID_STREAM_STATE", entity });
}
