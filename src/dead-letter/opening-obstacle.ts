/** What keeps letters from being published at all: they must not come back as messages of the subscription. */
import { status } from "@grpc/grpc-js";
import { statusName } from "../lib/raw-call.ts";
import type { PipelineState } from "../message.ts";

/** The topic that the messages come from, `projects/P/topics/T`; or why it cannot be seen, with the words of the service or the channel. */
export type SourceTopic = { readonly topic: string } | { readonly code: status; readonly details: string };

export interface OpeningObstacle {
  readonly state: PipelineState;
  /** For a person: what, where, what to do. */
  readonly reason: string;
  /** Until it is looked again whether it has gone. */
  readonly pauseMs: number;
}

const remedyPauseMs = 10_000;
const passingPauseMs = 1000;

/** The topic may be seen soon. Whoever has no right to see it goes on without. */
const passing: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.ABORTED,
  status.INTERNAL,
  status.RESOURCE_EXHAUSTED,
  status.UNKNOWN,
]);

/**
 * @param deadLetterTopic `projects/P/topics/T`
 * @param subscription    `projects/P/subscriptions/S`
 * @returns undefined when nothing is in the way, as far as that can be seen
 */
export function openingObstacle(
  seen: SourceTopic,
  deadLetterTopic: string,
  subscription: string,
): OpeningObstacle | undefined {
  if ("topic" in seen) {
    if (seen.topic !== deadLetterTopic) return undefined;
    return {
      state: "MISCONFIGURED",
      reason: `Dead-letter topic ${deadLetterTopic} is the topic of ${subscription} itself: every dead letter would come back as a message. Nothing is pulled. Name another topic in "deadLetter.topic", or give the subscription another one.`,
      pauseMs: remedyPauseMs,
    };
  }
  if (seen.code === status.NOT_FOUND) {
    return {
      state: "NOT_FOUND",
      reason: `Subscription ${subscription} does not exist. Create it, or correct "subscription" in the configuration.`,
      pauseMs: remedyPauseMs,
    };
  }
  if (!passing.has(seen.code)) return undefined;
  return {
    state: "UNAVAILABLE",
    reason: `Pub/Sub does not tell the topic of ${subscription} at present (${statusName(seen.code)}: ${seen.details}), and dead letters must not go to that one. Millrace keeps trying.`,
    pauseMs: passingPauseMs,
  };
}
