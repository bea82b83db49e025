/**
 * What the service tells of single ack ids whose request had no effect on them (PULL-01). It comes with the status of the
 * call, in `grpc-status-details-bin`: a `google.rpc.Status` with a `google.rpc.ErrorInfo` whose metadata names ids and codes.
 */
import type * as grpc from "@grpc/grpc-js";
import { bytesTag } from "../lib/wire-format.ts";
import { WireCursor } from "./wire-cursor.ts";

/** `transient`: another try may succeed; `permanent`: the lease has ended, or the id was never one of this subscription. */
export type AckFailure = "transient" | "permanent";

/** Failures by ack id; the ids of the request that are not among them succeeded. */
export type AckFailures = ReadonlyMap<string, AckFailure>;

/** google.rpc.Status */
const statusDetails = bytesTag(3);
/** google.protobuf.Any */
const anyTypeUrl = bytesTag(1);
const anyValue = bytesTag(2);
/** google.rpc.ErrorInfo */
const infoReason = bytesTag(1);
const infoMetadata = bytesTag(3);
/** An entry of a map */
const entryKey = bytesTag(1);
const entryValue = bytesTag(2);

const errorInfoType = /(?:^|\/)google\.rpc\.ErrorInfo$/;
const ackIdReason = "EXACTLY_ONCE_ACKID_FAILURE";
const ackIdCode = /^(?:TRANSIENT|PERMANENT)_FAILURE_/;
const transientCode = /^TRANSIENT_FAILURE_/;

/** @returns undefined when the error tells nothing of single ids: then it is about the whole request */
export function ackFailuresOf(error: unknown): AckFailures | undefined {
  const failures = new Map<string, AckFailure>();
  let told = false;
  for (const details of statusDetailsOf(error)) {
    try {
      for (const info of errorInfosIn(details)) told = readErrorInfo(info, failures) || told;
    } catch {
      // Details that cannot be read tell nothing.
      return undefined;
    }
  }
  return told && failures.size > 0 ? failures : undefined;
}

function statusDetailsOf(error: unknown): readonly Buffer[] {
  if (!(error instanceof Error) || !("metadata" in error)) return [];
  const metadata = error.metadata as grpc.Metadata | undefined;
  return (metadata?.get("grpc-status-details-bin") ?? []).filter((value) => Buffer.isBuffer(value));
}

function errorInfosIn(status: Buffer): Buffer[] {
  const infos: Buffer[] = [];
  forEachPart(status, (tag, any) => {
    if (tag !== statusDetails) return;
    let type = "";
    let value: Buffer = Buffer.alloc(0);
    forEachPart(any, (anyTag, part) => {
      if (anyTag === anyTypeUrl) type = part.toString("utf8");
      else if (anyTag === anyValue) value = part;
    });
    if (errorInfoType.test(type)) infos.push(value);
  });
  return infos;
}

/** True when the ErrorInfo is about ack ids. */
function readErrorInfo(info: Buffer, failures: Map<string, AckFailure>): boolean {
  let told = false;
  forEachPart(info, (tag, part) => {
    if (tag === infoReason && part.toString("utf8") === ackIdReason) told = true;
    if (tag !== infoMetadata) return;
    const [id, code] = readEntry(part);
    if (ackIdCode.test(code)) told = true;
    failures.set(id, transientCode.test(code) ? "transient" : "permanent");
  });
  return told;
}

function readEntry(entry: Buffer): [key: string, value: string] {
  let key = "";
  let value = "";
  forEachPart(entry, (tag, part) => {
    if (tag === entryKey) key = part.toString("utf8");
    else if (tag === entryValue) value = part.toString("utf8");
  });
  return [key, value];
}

function forEachPart(bytes: Buffer, visit: (tag: number, part: Buffer) => void): void {
  const cursor = new WireCursor(bytes);
  while (cursor.position < bytes.length) {
    const tag = cursor.varint32(bytes.length);
    if ((tag & 7) !== 2) {
      cursor.skip(tag, bytes.length);
      continue;
    }
    const end = cursor.part(bytes.length);
    visit(tag, bytes.subarray(cursor.position, end));
    cursor.position = end;
  }
}
