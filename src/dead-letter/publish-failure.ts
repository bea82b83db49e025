/** Why a Publish request failed, and what that means: for its letters, for the topic, and for the next try. */
import { status } from "@grpc/grpc-js";
import { statusName } from "../lib/raw-call.ts";
import type { BackoffBounds } from "../lib/retry.ts";
import type { PipelineState } from "../message.ts";

export type PublishFailure =
  /** The request itself is at fault: another try would have the same answer. */
  | { readonly kind: "refused"; readonly reason: string }
  | {
      readonly kind: "again";
      readonly state: PipelineState;
      /** For a person: what, where, what to do. */
      readonly reason: string;
      readonly backoff: BackoffBounds;
      /** Somebody has to act. Otherwise the topic is expected back by itself. */
      readonly setup: boolean;
    };

const transientBackoff: BackoffBounds = { initialMs: 100, maxMs: 30_000 };
const setupBackoff: BackoffBounds = { initialMs: 2000, maxMs: 60_000 };

const setupReasons: Partial<Record<status, { state: PipelineState; remedy: string }>> = {
  [status.NOT_FOUND]: {
    state: "NOT_FOUND",
    remedy: 'does not exist. Create it, or correct "deadLetter.topic" in the configuration.',
  },
  [status.PERMISSION_DENIED]: {
    state: "PERMISSION_DENIED",
    remedy: "may not be published to. Grant roles/pubsub.publisher on it to the account that Millrace runs as.",
  },
  [status.UNAUTHENTICATED]: {
    state: "PERMISSION_DENIED",
    remedy: "does not accept our credentials. Check Application Default Credentials.",
  },
  [status.FAILED_PRECONDITION]: {
    state: "UNAVAILABLE",
    remedy: "takes no messages (FAILED_PRECONDITION). Check its encryption key and its message storage policy.",
  },
};

/**
 * The service's own words are left out of refusals: they may speak of what is in the letter.
 *
 * @param details the service's or the channel's words about it
 * @param topic   `projects/P/topics/T`
 */
export function publishFailure(code: status, details: string, topic: string): PublishFailure {
  if (code === status.INVALID_ARGUMENT || code === status.OUT_OF_RANGE || isTooLarge(code, details)) {
    return {
      kind: "refused",
      reason: `Dead-letter topic ${topic} refuses the letter (${statusName(code)}): it is too large, or the topic has a schema that it does not fit.`,
    };
  }
  const setup = setupReasons[code];
  if (setup) {
    const reason = `Dead-letter topic ${topic} ${setup.remedy}`;
    return { kind: "again", state: setup.state, reason, backoff: setupBackoff, setup: true };
  }
  return {
    kind: "again",
    state: code === status.RESOURCE_EXHAUSTED ? "THROTTLED" : "UNAVAILABLE",
    reason: `Dead-letter topic ${topic} cannot be reached at present (${statusName(code)}: ${details}). Millrace keeps trying.`,
    backoff: transientBackoff,
    setup: false,
  };
}

/** gRPC's own limit on a message has the status of a quota, but waiting is of no use. */
function isTooLarge(code: status, details: string): boolean {
  return code === status.RESOURCE_EXHAUSTED && /message larger than max/i.test(details);
}
