/** `google.pubsub.v1.Topic`: what the resource of the API asks for, checked, and what it shows. */
import { invalidArgument } from "../rpc-error.ts";
import { fromDurationMs, type Duration } from "./duration.ts";
import { checkLabels, type Labels } from "./labels.ts";
import { readRetentionMs } from "./retention.ts";
import type { Topic } from "./topic.ts";
import { refuseUnsupported } from "./unsupported.ts";

/** As it is decoded, absent fields filled. */
export interface TopicResource {
  readonly name: string;
  readonly labels: Labels;
  /** Kept, and shown: there is but one place. */
  readonly messageStoragePolicy: object | null;
  readonly kmsKeyName: string;
  readonly schemaSettings: object | null;
  readonly messageRetentionDuration: Duration | null;
  readonly ingestionDataSourceSettings: object | null;
  readonly messageTransforms: readonly object[];
}

export interface TopicSettings {
  readonly labels: Labels;
  /** How long every message is kept for the topic's subscriptions (COMMON-05); 0: not at all. */
  readonly retentionMs: number;
  readonly storagePolicy: object | null;
}

export const plainTopic: TopicSettings = { labels: {}, retentionMs: 0, storagePolicy: null };

/** What UpdateTopic may change: mask path → field of the resource. */
const updatable: Readonly<Record<string, keyof TopicResource>> = {
  labels: "labels",
  message_retention_duration: "messageRetentionDuration",
  message_storage_policy: "messageStoragePolicy",
  schema_settings: "schemaSettings",
  ingestion_data_source_settings: "ingestionDataSourceSettings",
  message_transforms: "messageTransforms",
};

/**
 * Checks a topic.
 *
 * @throws RpcError INVALID_ARGUMENT for a value that the service refuses, UNIMPLEMENTED for a property that this server
 *   does not have
 */
export function readTopicSettings(resource: TopicResource): TopicSettings {
  refuseUnsupported([
    resource.kmsKeyName && "kms_key_name",
    resource.schemaSettings && "schema_settings",
    resource.ingestionDataSourceSettings && "ingestion_data_source_settings",
    resource.messageTransforms.length > 0 && "message_transforms",
  ]);
  return {
    labels: checkLabels(resource.labels),
    retentionMs: readRetentionMs(resource.messageRetentionDuration) ?? 0,
    storagePolicy: resource.messageStoragePolicy,
  };
}

/**
 * The settings of a topic after an update.
 *
 * @throws RpcError as `readTopicSettings`, and INVALID_ARGUMENT when the mask is empty or names a field that cannot be
 *   changed
 */
export function updatedTopicSettings(
  settings: TopicSettings,
  changes: TopicResource,
  paths: readonly string[],
): TopicSettings {
  if (paths.length === 0) throw invalidArgument("The update mask is empty");
  const unknown = paths.find((path) => !updatable[path]);
  if (unknown) throw invalidArgument(`${unknown} of a topic cannot be changed`);
  const asked = readTopicSettings(changes);
  return {
    labels: paths.includes("labels") ? asked.labels : settings.labels,
    retentionMs: paths.includes("message_retention_duration") ? asked.retentionMs : settings.retentionMs,
    storagePolicy: paths.includes("message_storage_policy") ? asked.storagePolicy : settings.storagePolicy,
  };
}

/** The resource that Get, List, Create and Update answer with. */
export function toTopicResource({ name, settings }: Topic): object {
  const { labels, retentionMs, storagePolicy } = settings;
  return {
    name,
    labels,
    state: "ACTIVE",
    ...(retentionMs > 0 && { messageRetentionDuration: fromDurationMs(retentionMs) }),
    ...(storagePolicy && { messageStoragePolicy: storagePolicy }),
  };
}
