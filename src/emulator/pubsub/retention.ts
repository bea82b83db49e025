/** How long messages are kept: by a subscription (COMMON-01), or by a topic for all its subscriptions (COMMON-05). */
import { invalidArgument } from "../rpc-error.ts";
import { toDurationMs, type Duration } from "./duration.ts";

const leastMs = 10 * 60_000;
const mostMs = 31 * 24 * 3_600_000;

/** @returns undefined when none is given @throws RpcError INVALID_ARGUMENT beyond the bounds */
export function readRetentionMs(duration: Duration | null): number | undefined {
  if (!duration) return undefined;
  const ms = toDurationMs(duration);
  if (ms < leastMs || ms > mostMs) throw invalidArgument("message_retention_duration goes from 10 minutes to 31 days");
  return ms;
}
