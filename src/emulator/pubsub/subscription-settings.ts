/** The properties of a subscription: the resource of the API, checked, in the units that the subscription works with. */
import { invalidArgument, RpcError } from "../rpc-error.ts";
import { fromDurationMs, toDurationMs, type Duration } from "./duration.ts";
import { parseResourceName } from "./resource-name.ts";
import { refuseUnsupported } from "./unsupported.ts";

/** `google.pubsub.v1.Subscription` as it is decoded, absent fields filled. */
export interface SubscriptionResource {
  readonly name: string;
  readonly topic: string;
  readonly ackDeadlineSeconds: number;
  readonly messageRetentionDuration: Duration | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly enableMessageOrdering: boolean;
  readonly expirationPolicy: { readonly ttl: Duration | null } | null;
  readonly deadLetterPolicy: { readonly deadLetterTopic: string; readonly maxDeliveryAttempts: number } | null;
  readonly retryPolicy: { readonly minimumBackoff: Duration | null; readonly maximumBackoff: Duration | null } | null;
  readonly filter: string;
  readonly enableExactlyOnceDelivery: boolean;
  readonly retainAckedMessages: boolean;
  readonly pushConfig: { readonly pushEndpoint: string } | null;
  readonly bigqueryConfig: object | null;
  readonly cloudStorageConfig: object | null;
  readonly bigtableConfig: object | null;
  readonly messageTransforms: readonly object[];
}

export interface SubscriptionSettings {
  readonly name: string;
  readonly topic: string;
  readonly ackDeadlineMs: number;
  /** A message older than this is dropped, whatever became of it. */
  readonly retentionMs: number;
  /** Without a subscriber for this long the subscription is deleted; Infinity: never. */
  readonly expirationMs: number;
  readonly ordered: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Absent: what is given back goes out again at once. */
  readonly retry: { readonly minBackoffMs: number; readonly maxBackoffMs: number } | undefined;
  readonly deadLetter: { readonly topic: string; readonly maxDeliveryAttempts: number } | undefined;
}

const secondMs = 1000;
const dayMs = 24 * 3600 * secondMs;

export const minAckDeadlineSeconds = 10;
export const maxAckDeadlineSeconds = 600;
const retentionBounds = { least: 600 * secondMs, most: 31 * dayMs, usual: 7 * dayMs };
const expirationBounds = { least: dayMs, usual: 31 * dayMs };
const backoffBounds = { most: 600 * secondMs, usualMin: 10 * secondMs, usualMax: 600 * secondMs };
const attemptBounds = { least: 5, most: 100, usual: 5 };

/**
 * Checks a subscription (COMMON-01, -08, -09, -10, DLQ-02, RETRY-03) and fills in the defaults.
 *
 * @throws RpcError INVALID_ARGUMENT or OUT_OF_RANGE for a value that the service refuses, UNIMPLEMENTED for a property that
 *   this server does not have: it must not look as if it worked
 */
export function readSettings(resource: SubscriptionResource): SubscriptionSettings {
  refuseMissingFeatures(resource);
  parseResourceName("subscriptions", resource.name);
  const retentionMs = readRetention(resource);
  return {
    name: resource.name,
    topic: resource.topic,
    ackDeadlineMs: readAckDeadline(resource.ackDeadlineSeconds) * secondMs,
    retentionMs,
    expirationMs: readExpiration(resource, retentionMs),
    ordered: resource.enableMessageOrdering,
    labels: resource.labels,
    retry: readRetryPolicy(resource.retryPolicy),
    deadLetter: readDeadLetterPolicy(resource),
  };
}

/** The resource that Get, List, Create and Update answer with. */
export function toResource(settings: SubscriptionSettings): object {
  const { retry, deadLetter } = settings;
  return {
    name: settings.name,
    topic: settings.topic,
    ackDeadlineSeconds: settings.ackDeadlineMs / secondMs,
    messageRetentionDuration: fromDurationMs(settings.retentionMs),
    labels: settings.labels,
    enableMessageOrdering: settings.ordered,
    expirationPolicy: settings.expirationMs === Infinity ? {} : { ttl: fromDurationMs(settings.expirationMs) },
    state: "ACTIVE",
    ...(retry && {
      retryPolicy: {
        minimumBackoff: fromDurationMs(retry.minBackoffMs),
        maximumBackoff: fromDurationMs(retry.maxBackoffMs),
      },
    }),
    ...(deadLetter && {
      deadLetterPolicy: { deadLetterTopic: deadLetter.topic, maxDeliveryAttempts: deadLetter.maxDeliveryAttempts },
    }),
  };
}

/** What UpdateSubscription may change: mask path → field of the resource. */
const updatable: Readonly<Record<string, keyof SubscriptionResource>> = {
  ack_deadline_seconds: "ackDeadlineSeconds",
  message_retention_duration: "messageRetentionDuration",
  labels: "labels",
  expiration_policy: "expirationPolicy",
  dead_letter_policy: "deadLetterPolicy",
  retry_policy: "retryPolicy",
  enable_exactly_once_delivery: "enableExactlyOnceDelivery",
  retain_acked_messages: "retainAckedMessages",
  push_config: "pushConfig",
  bigquery_config: "bigqueryConfig",
  cloud_storage_config: "cloudStorageConfig",
  bigtable_config: "bigtableConfig",
  message_transforms: "messageTransforms",
};

/**
 * The resource with the masked fields taken from `changes`.
 *
 * @throws RpcError INVALID_ARGUMENT when the mask is empty, or names a field that cannot be changed
 */
export function applyMask(
  resource: SubscriptionResource,
  changes: SubscriptionResource,
  paths: readonly string[],
): SubscriptionResource {
  if (paths.length === 0) throw invalidArgument("The update mask is empty");
  const changed: Record<string, unknown> = { ...resource };
  for (const path of paths) {
    const field = updatable[path];
    if (!field) throw invalidArgument(`${path} of a subscription cannot be changed`);
    changed[field] = changes[field];
  }
  return changed as unknown as SubscriptionResource;
}

function refuseMissingFeatures(resource: SubscriptionResource): void {
  refuseUnsupported([
    resource.filter && "filter",
    resource.enableExactlyOnceDelivery && "enable_exactly_once_delivery",
    resource.retainAckedMessages && "retain_acked_messages (there is no seek)",
    resource.pushConfig?.pushEndpoint && "push_config",
    resource.bigqueryConfig && "bigquery_config",
    resource.cloudStorageConfig && "cloud_storage_config",
    resource.bigtableConfig && "bigtable_config",
    resource.messageTransforms.length > 0 && "message_transforms",
  ]);
}

function readAckDeadline(seconds: number): number {
  if (seconds === 0) return minAckDeadlineSeconds;
  if (seconds < minAckDeadlineSeconds || seconds > maxAckDeadlineSeconds) {
    throw invalidArgument(
      `ack_deadline_seconds is ${seconds}; it goes from ${minAckDeadlineSeconds} to ${maxAckDeadlineSeconds}`,
    );
  }
  return seconds;
}

function readRetention({ messageRetentionDuration: duration }: SubscriptionResource): number {
  const { least, most, usual } = retentionBounds;
  const ms = duration ? toDurationMs(duration) : usual;
  if (ms < least || ms > most) throw invalidArgument("message_retention_duration goes from 10 minutes to 31 days");
  return ms;
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
