/** The properties of a subscription, checked, in the units that the subscription works with. */
import { invalidArgument, RpcError } from "../rpc-error.ts";
import { toDurationMs } from "./duration.ts";
import { parseFilter } from "./filter.ts";
import { checkLabels } from "./labels.ts";
import { parseResourceName } from "./resource-name.ts";
import { readRetentionMs } from "./retention.ts";
import type { SubscriptionResource } from "./subscription-resource.ts";
import { refuseUnsupported } from "./unsupported.ts";

export interface SubscriptionSettings {
  readonly name: string;
  readonly topic: string;
  readonly ackDeadlineMs: number;
  /** A message older than this is dropped, whatever became of it. */
  readonly retentionMs: number;
  /** Without a subscriber for this long the subscription is deleted; Infinity: never. */
  readonly expirationMs: number;
  readonly ordered: boolean;
  readonly exactlyOnce: boolean;
  /** Empty: every message is delivered. */
  readonly filter: string;
  /** Acked messages are kept for `retentionMs`, for seeking back. */
  readonly retainAcked: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Absent: what is given back goes out again at once. */
  readonly retry: { readonly minBackoffMs: number; readonly maxBackoffMs: number } | undefined;
  readonly deadLetter: { readonly topic: string; readonly maxDeliveryAttempts: number } | undefined;
}

const secondMs = 1000;
const dayMs = 24 * 3600 * secondMs;

export const minAckDeadlineSeconds = 10;
export const maxAckDeadlineSeconds = 600;
const exactlyOnceAckDeadlineSeconds = 60;
const usualRetentionMs = 7 * dayMs;
const expirationBounds = { least: dayMs, usual: 31 * dayMs };
const backoffBounds = { most: 600 * secondMs, usualMin: 10 * secondMs, usualMax: 600 * secondMs };
const attemptBounds = { least: 5, most: 100, usual: 5 };

/**
 * Checks a subscription (COMMON-01, -08, -09, -10, FILTER-01, DLQ-02, RETRY-03) and fills in the defaults.
 *
 * @throws RpcError INVALID_ARGUMENT or OUT_OF_RANGE for a value that the service refuses, UNIMPLEMENTED for a property that
 *   this server does not have: it must not look as if it worked
 */
export function readSettings(resource: SubscriptionResource): SubscriptionSettings {
  refuseMissingFeatures(resource);
  parseResourceName("subscriptions", resource.name);
  const retentionMs = readRetentionMs(resource.messageRetentionDuration) ?? usualRetentionMs;
  return {
    name: resource.name,
    topic: resource.topic,
    ackDeadlineMs: readAckDeadline(resource) * secondMs,
    retentionMs,
    expirationMs: readExpiration(resource, retentionMs),
    ordered: resource.enableMessageOrdering,
    exactlyOnce: resource.enableExactlyOnceDelivery,
    filter: checkFilter(resource.filter),
    retainAcked: resource.retainAckedMessages,
    labels: checkLabels(resource.labels),
    retry: readRetryPolicy(resource.retryPolicy),
    deadLetter: readDeadLetterPolicy(resource),
  };
}

function refuseMissingFeatures(resource: SubscriptionResource): void {
  refuseUnsupported([
    resource.pushConfig?.pushEndpoint && "push_config",
    resource.bigqueryConfig && "bigquery_config",
    resource.cloudStorageConfig && "cloud_storage_config",
    resource.bigtableConfig && "bigtable_config",
    resource.messageTransforms.length > 0 && "message_transforms",
  ]);
}

function checkFilter(filter: string): string {
  if (filter !== "") parseFilter(filter);
  return filter;
}

/** When none is given, exactly-once delivery has a longer one. */
function readAckDeadline({ ackDeadlineSeconds: seconds, enableExactlyOnceDelivery }: SubscriptionResource): number {
  if (seconds === 0) return enableExactlyOnceDelivery ? exactlyOnceAckDeadlineSeconds : minAckDeadlineSeconds;
  if (seconds < minAckDeadlineSeconds || seconds > maxAckDeadlineSeconds) {
    throw invalidArgument(
      `ack_deadline_seconds is ${seconds}; it goes from ${minAckDeadlineSeconds} to ${maxAckDeadlineSeconds}`,
    );
  }
  return seconds;
}

function readExpiration({ expirationPolicy }: SubscriptionResource, retentionMs: number): number {
  if (!expirationPolicy) return expirationBounds.usual;
  if (!expirationPolicy.ttl) return Infinity;
  const ms = toDurationMs(expirationPolicy.ttl);
  if (ms < expirationBounds.least) throw invalidArgument("expiration_policy.ttl is a day at least");
  if (ms < retentionMs) throw invalidArgument("expiration_policy.ttl is shorter than message_retention_duration");
  return ms;
}

function readRetryPolicy(policy: SubscriptionResource["retryPolicy"]): SubscriptionSettings["retry"] {
  if (!policy) return undefined;
  const { minimumBackoff, maximumBackoff } = policy;
  const minBackoffMs = minimumBackoff ? toDurationMs(minimumBackoff) : backoffBounds.usualMin;
  const maxBackoffMs = maximumBackoff ? toDurationMs(maximumBackoff) : backoffBounds.usualMax;
  for (const ms of [minBackoffMs, maxBackoffMs]) {
    if (ms < 0 || ms > backoffBounds.most) throw invalidArgument("Backoffs of retry_policy go from 0 to 600 seconds");
  }
  if (minBackoffMs > maxBackoffMs) throw invalidArgument("retry_policy.minimum_backoff is longer than maximum_backoff");
  return { minBackoffMs, maxBackoffMs };
}

function readDeadLetterPolicy({
  topic,
  deadLetterPolicy: policy,
}: SubscriptionResource): SubscriptionSettings["deadLetter"] {
  if (!policy?.deadLetterTopic) return undefined;
  parseResourceName("topics", policy.deadLetterTopic);
  if (policy.deadLetterTopic === topic) throw invalidArgument("The dead-letter topic is the subscription's own topic");
  const maxDeliveryAttempts = policy.maxDeliveryAttempts || attemptBounds.usual;
  if (maxDeliveryAttempts < attemptBounds.least || maxDeliveryAttempts > attemptBounds.most) {
    throw new RpcError(
      "OUT_OF_RANGE",
      `dead_letter_policy.max_delivery_attempts is ${maxDeliveryAttempts}; it goes from ${attemptBounds.least} to ${attemptBounds.most}`,
    );
  }
  return { topic: policy.deadLetterTopic, maxDeliveryAttempts };
}

/** @throws RpcError INVALID_ARGUMENT unless a deadline may be changed to that many seconds */
export function checkModifyDeadline(seconds: number): void {
  if (seconds >= 0 && seconds <= maxAckDeadlineSeconds) return;
  throw invalidArgument(`An ack deadline of ${seconds} s: it goes from 0 to ${maxAckDeadlineSeconds}`);
}
