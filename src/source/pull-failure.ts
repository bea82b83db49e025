/** Why a pull stream ended, what that means for the pipeline, and how long to wait before the next try. */
import { status } from "@grpc/grpc-js";
import { plainDetails, statusName } from "../lib/raw-call.ts";
import type { BackoffBounds } from "../lib/retry.ts";
import type { PipelineState } from "../message.ts";
import { withoutAckIds } from "./refusal-words.ts";

export interface PullFailure {
  readonly state: PipelineState;
  /** For a person: what, where, what to do. */
  readonly reason: string;
  readonly backoff: BackoffBounds;
  /** Somebody has to act. Otherwise the stream is expected back by itself. */
  readonly setup: boolean;
}

const transientBackoff: BackoffBounds = { initialMs: 100, maxMs: 60_000 };
const setupBackoff: BackoffBounds = { initialMs: 2000, maxMs: 60_000 };

type SetupFault = Pick<PullFailure, "state" | "reason">;

const setupFaults: Partial<Record<status, (subscription: string, details: string) => SetupFault>> = {
  [status.NOT_FOUND]: (subscription) => ({
    state: "NOT_FOUND",
    reason: `Subscription ${subscription} does not exist. Create it, or correct "subscription" in the configuration.`,
  }),
  [status.PERMISSION_DENIED]: (subscription) => ({
    state: "PERMISSION_DENIED",
    reason: `Not allowed to consume ${subscription}. Grant roles/pubsub.subscriber on it to the account that Millrace runs as.`,
  }),
  [status.UNAUTHENTICATED]: (subscription, details) => ({
    state: "PERMISSION_DENIED",
    reason: `Pub/Sub does not accept the credentials used for ${subscription} (${details}). Check Application Default Credentials.`,
  }),
  [status.FAILED_PRECONDITION]: (subscription, details) => ({
    state: "NOT_FOUND",
    reason: `Subscription ${subscription} cannot be pulled from (${details}). Use a pull subscription that is attached to its topic.`,
  }),
  [status.INVALID_ARGUMENT]: (subscription, details) => ({
    state: "UNAVAILABLE",
    reason: `Pub/Sub calls the pull request for ${subscription} invalid (${details}). Check the subscription's name and the options under "pull" and "leases".`,
  }),
};

/**
 * @param code         status with which the stream ended
 * @param details      the service's or the channel's words about it
 * @param subscription `projects/P/subscriptions/S`
 */
export function pullFailure(code: status, details: string, subscription: string): PullFailure {
  const words = withoutAckIds(plainDetails(details));
  const setup = setupFaults[code]?.(subscription, words);
  if (setup) return { ...setup, backoff: setupBackoff, setup: true };
  return {
    state: code === status.RESOURCE_EXHAUSTED ? "THROTTLED" : "UNAVAILABLE",
    reason: `Pub/Sub does not deliver from ${subscription} at present (${statusName(code)}: ${words}). Millrace keeps trying.`,
    backoff: transientBackoff,
    setup: false,
  };
}
