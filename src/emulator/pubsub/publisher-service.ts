/** `google.pubsub.v1.Publisher`. */
import type { ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { pubsubProtos, serviceDefinition } from "../../lib/protos.ts";
import { withBytes } from "../grpc-server.ts";
import { invalidArgument } from "../rpc-error.ts";
import { unaryMethod, type MethodHost } from "../unary-method.ts";
import type { Broker } from "./broker.ts";
import { readPublishRequest } from "./message-content.ts";
import { page, type PageRequest } from "./page.ts";
import { readTopicSettings, toTopicResource, updatedTopicSettings, type TopicResource } from "./topic-resource.ts";
import type { Topic } from "./topic.ts";

/** Publish requests travel as bytes. */
export function publisherDefinition(): ServiceDefinition {
  return withBytes(serviceDefinition(pubsubProtos(), "google.pubsub.v1.Publisher"), "Publish", "request");
}

interface Named {
  readonly topic: string;
}

interface UpdateRequest {
  readonly topic: TopicResource | null;
  readonly updateMask: { readonly paths: readonly string[] } | null;
}

type ListRequest = PageRequest & { readonly project: string };
type ListOfTopicRequest = PageRequest & Named;

/** The methods, by name. */
export function publisherHandlers(host: MethodHost, broker: Broker): UntypedServiceImplementation {
  return {
    CreateTopic: unaryMethod(host, "CreateTopic", (request: TopicResource) =>
      toTopicResource(broker.createTopic(request.name, readTopicSettings(request))),
    ),
    GetTopic: unaryMethod(host, "GetTopic", (request: Named) => toTopicResource(broker.topic(request.topic))),
    UpdateTopic: unaryMethod(host, "UpdateTopic", (request: UpdateRequest) =>
      toTopicResource(updateTopic(broker, request)),
    ),
    ListTopics: unaryMethod(host, "ListTopics", (request: ListRequest) => {
      const names = [...broker.topics.keys()].filter((name) => name.startsWith(`${request.project}/`));
      const { items, nextPageToken } = page(names, request);
      return { topics: items.map((name) => toTopicResource(broker.topic(name))), nextPageToken };
    }),
    ListTopicSubscriptions: unaryMethod(host, "ListTopicSubscriptions", (request: ListOfTopicRequest) => {
      const names = [...broker.topic(request.topic).subscriptions].map(({ settings }) => settings.name);
      const { items, nextPageToken } = page(names, request);
      return { subscriptions: items, nextPageToken };
    }),
    ListTopicSnapshots: unaryMethod(host, "ListTopicSnapshots", (request: ListOfTopicRequest) => {
      const names = [...broker.topic(request.topic).snapshots].map(({ name }) => name);
      const { items, nextPageToken } = page(names, request);
      return { snapshots: items, nextPageToken };
    }),
    DetachSubscription: unaryMethod(host, "DetachSubscription", (request: { readonly subscription: string }) => {
      broker.detachSubscription(request.subscription);
      return {};
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

function updateTopic(broker: Broker, { topic: changes, updateMask }: UpdateRequest): Topic {
  if (!changes) throw invalidArgument("The request names no topic");
  const topic = broker.topic(changes.name);
  topic.settings = updatedTopicSettings(topic.settings, changes, updateMask?.paths ?? []);
  return topic;
}
