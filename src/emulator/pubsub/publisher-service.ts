/** `google.pubsub.v1.Publisher` without snapshots and detaching, which answer UNIMPLEMENTED. */
import type { ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { pubsubProtos, serviceDefinition } from "../../lib/protos.ts";
import { withBytes } from "../grpc-server.ts";
import { invalidArgument } from "../rpc-error.ts";
import { unaryMethod, type MethodHost } from "../unary-method.ts";
import type { Broker } from "./broker.ts";
import { readPublishRequest } from "./message-content.ts";
import { page, type PageRequest } from "./page.ts";
import type { Topic } from "./topic.ts";
import { refuseUnsupported } from "./unsupported.ts";

/** Publish requests travel as bytes. */
export function publisherDefinition(): ServiceDefinition {
  return withBytes(serviceDefinition(pubsubProtos(), "google.pubsub.v1.Publisher"), "Publish", "request");
}

/** `google.pubsub.v1.Topic` as it is decoded, absent fields filled. */
interface TopicResource {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly messageStoragePolicy: object | null;
  readonly kmsKeyName: string;
  readonly schemaSettings: object | null;
  readonly messageRetentionDuration: object | null;
  readonly ingestionDataSourceSettings: object | null;
  readonly messageTransforms: readonly object[];
}

interface Named {
  readonly topic: string;
}

interface UpdateRequest {
  readonly topic: TopicResource | null;
  readonly updateMask: { readonly paths: readonly string[] } | null;
}

type ListRequest = PageRequest & { readonly project: string };
type ListSubscriptionsRequest = PageRequest & Named;

/** The methods, by name. */
export function publisherHandlers(host: MethodHost, broker: Broker): UntypedServiceImplementation {
  return {
    CreateTopic: unaryMethod(host, "CreateTopic", (request: TopicResource) => {
      refuseMissingFeatures(request);
      return toResource(broker.createTopic(request.name, request.labels));
    }),
    GetTopic: unaryMethod(host, "GetTopic", (request: Named) => toResource(broker.topic(request.topic))),
    UpdateTopic: unaryMethod(host, "UpdateTopic", (request: UpdateRequest) => toResource(updateTopic(broker, request))),
    ListTopics: unaryMethod(host, "ListTopics", (request: ListRequest) => {
      const names = [...broker.topics.keys()].filter((name) => name.startsWith(`${request.project}/`));
      const { items, nextPageToken } = page(names, request);
      return { topics: items.map((name) => toResource(broker.topic(name))), nextPageToken };
    }),
    ListTopicSubscriptions: unaryMethod(host, "ListTopicSubscriptions", (request: ListSubscriptionsRequest) => {
      const names = [...broker.topic(request.topic).subscriptions].map(({ settings }) => settings.name);
      const { items, nextPageToken } = page(names, request);
      return { subscriptions: items, nextPageToken };
    }),
    DeleteTopic: unaryMethod(host, "DeleteTopic", (request: Named) => {
      broker.deleteTopic(request.topic);
      return {};
    }),
    Publish: unaryMethod(host, "Publish", (bytes: Buffer) => {
      const { topic, messages } = readPublishRequest(bytes);
      return { messageIds: broker.publish(topic, messages) };
    }),
  };
}

function toResource(topic: Topic): object {
  return { name: topic.name, labels: topic.labels, state: "ACTIVE" };
}

function updateTopic(broker: Broker, { topic: changes, updateMask }: UpdateRequest): Topic {
  if (!changes) throw invalidArgument("The request names no topic");
  const topic = broker.topic(changes.name);
  const paths = updateMask?.paths ?? [];
  if (paths.length === 0) throw invalidArgument("The update mask is empty");
  refuseMissingFeatures(changes);
  const unknown = paths.find((path) => path !== "labels");
  if (unknown) throw invalidArgument(`${unknown} of a topic cannot be changed`);
  topic.labels = changes.labels;
  return topic;
}

function refuseMissingFeatures(resource: TopicResource): void {
  refuseUnsupported([
    resource.messageStoragePolicy && "message_storage_policy",
    resource.kmsKeyName && "kms_key_name",
    resource.schemaSettings && "schema_settings",
    resource.messageRetentionDuration && "message_retention_duration of a topic (there is no seek)",
    resource.ingestionDataSourceSettings && "ingestion_data_source_settings",
    resource.messageTransforms.length > 0 && "message_transforms",
  ]);
}
