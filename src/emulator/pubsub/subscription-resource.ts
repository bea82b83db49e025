/** `google.pubsub.v1.Subscription`: the resource of the API, what it shows, and what an update changes of it. */
import { pubsubProtos } from "../../lib/protos.ts";
import { invalidArgument } from "../rpc-error.ts";
import { fromDurationMs, type Duration } from "./duration.ts";
import type { SubscriptionSettings } from "./subscription-settings.ts";

/** As it is decoded, absent fields filled. */
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

/** What a resource shows beside the properties that were set. */
export interface SubscriptionStatus {
  readonly detached: boolean;
  /** How long the topic keeps every message; 0: it keeps none. */
  readonly topicRetentionMs: number;
}

/** The resource that Get, List, Create and Update answer with. */
export function toResource(settings: SubscriptionSettings, status: SubscriptionStatus): object {
  const { retry, deadLetter } = settings;
  const { detached, topicRetentionMs } = status;
  return {
    name: settings.name,
    topic: settings.topic,
    ackDeadlineSeconds: settings.ackDeadlineMs / 1000,
    messageRetentionDuration: fromDurationMs(settings.retentionMs),
    labels: settings.labels,
    enableMessageOrdering: settings.ordered,
    enableExactlyOnceDelivery: settings.exactlyOnce,
    filter: settings.filter,
    retainAckedMessages: settings.retainAcked,
    detached,
    expirationPolicy: settings.expirationMs === Infinity ? {} : { ttl: fromDurationMs(settings.expirationMs) },
    state: "ACTIVE",
    ...(topicRetentionMs > 0 && { topicMessageRetentionDuration: fromDurationMs(topicRetentionMs) }),
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

/** What UpdateSubscription may change: mask path → field of the resource. Name, topic, ordering and filter stay. */
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

/** A resource with all fields, from one with some. */
export function subscriptionResource(partial: object): SubscriptionResource {
  const type = pubsubProtos().lookupType("google.pubsub.v1.Subscription");
  return type.toObject(type.fromObject(partial), {
    longs: String,
    enums: String,
    defaults: true,
    arrays: true,
  }) as SubscriptionResource;
}
