/** `google.pubsub.v1.Subscriber` without push, which answers UNIMPLEMENTED. */
import type { ServerUnaryCall, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { pubsubProtos, serviceDefinition } from "../../lib/protos.ts";
import { withBytes } from "../grpc-server.ts";
import { invalidArgument } from "../rpc-error.ts";
import { unaryMethod, type MethodHost } from "../unary-method.ts";
import { acknowledge, modifyAckDeadline } from "./ack-methods.ts";
import type { Broker } from "./broker.ts";
import { page, type PageRequest } from "./page.ts";
import { encodeReceived } from "./received-messages.ts";
import { snapshotHandlers } from "./snapshot-methods.ts";
import { StreamingPullSession, type StreamingPullCall } from "./streaming-pull-session.ts";
import type { SubscriptionResource } from "./subscription-resource.ts";
import { refuseUnsupported } from "./unsupported.ts";
import { WaitingPull } from "./waiting-pull.ts";

const maxPullMessages = 1000;
const empty = Buffer.alloc(0);

/** Ack requests and messages travel as bytes. */
export function subscriberDefinition(): ServiceDefinition {
  let definition = serviceDefinition(pubsubProtos(), "google.pubsub.v1.Subscriber");
  for (const method of ["StreamingPull", "Acknowledge", "ModifyAckDeadline"]) {
    definition = withBytes(definition, method, "both");
  }
  return withBytes(definition, "Pull", "response");
}

interface Named {
  readonly subscription: string;
}

interface PullRequest extends Named {
  readonly returnImmediately: boolean;
  readonly maxMessages: number;
}

interface UpdateRequest {
  readonly subscription: SubscriptionResource | null;
  readonly updateMask: { readonly paths: readonly string[] } | null;
}

interface ModifyPushConfigRequest extends Named {
  readonly pushConfig: SubscriptionResource["pushConfig"];
}

interface ListRequest extends PageRequest {
  readonly project: string;
}

/** @param sessions the open StreamingPull calls, kept up to date */
export function subscriberHandlers(
  host: MethodHost,
  broker: Broker,
  sessions: Set<StreamingPullSession>,
): UntypedServiceImplementation {
  const resourceOf = (name: string): object => broker.resourceOf(broker.subscription(name));
  return {
    CreateSubscription: unaryMethod(host, "CreateSubscription", (request: SubscriptionResource) =>
      broker.resourceOf(broker.createSubscription(request)),
    ),
    GetSubscription: unaryMethod(host, "GetSubscription", (request: Named) => resourceOf(request.subscription)),
    UpdateSubscription: unaryMethod(host, "UpdateSubscription", ({ subscription, updateMask }: UpdateRequest) => {
      if (!subscription) throw invalidArgument("The request names no subscription");
      return broker.resourceOf(broker.updateSubscription(subscription, updateMask?.paths ?? []));
    }),
    ListSubscriptions: unaryMethod(host, "ListSubscriptions", (request: ListRequest) => {
      const names = [...broker.subscriptions.keys()].filter((name) => name.startsWith(`${request.project}/`));
      const { items, nextPageToken } = page(names, request);
      return { subscriptions: items.map(resourceOf), nextPageToken };
    }),
    DeleteSubscription: unaryMethod(host, "DeleteSubscription", (request: Named) => {
      broker.deleteSubscription(request.subscription);
      return {};
    }),
    Pull: unaryMethod(host, "Pull", (request: PullRequest, call: ServerUnaryCall<PullRequest, Buffer>) =>
      pull(host, broker, request, call),
    ),
    Acknowledge: unaryMethod(host, "Acknowledge", (bytes: Buffer, _call, fault) => acknowledge(broker, bytes, fault)),
    ModifyAckDeadline: unaryMethod(host, "ModifyAckDeadline", (bytes: Buffer, _call, fault) =>
      modifyAckDeadline(broker, bytes, fault),
    ),
    ModifyPushConfig: unaryMethod(host, "ModifyPushConfig", (request: ModifyPushConfigRequest) => {
      broker.subscription(request.subscription);
      refuseUnsupported([request.pushConfig?.pushEndpoint && "push_config"]);
      return {};
    }),
    ...snapshotHandlers(host, broker),
    StreamingPull: (call: StreamingPullCall) => {
      sessions.add(new StreamingPullSession(host, broker, call, (session) => sessions.delete(session)));
    },
  };
}

async function pull(
  host: MethodHost,
  broker: Broker,
  request: PullRequest,
  call: ServerUnaryCall<PullRequest, Buffer>,
): Promise<Buffer> {
  const subscription = broker.attachedSubscription(request.subscription);
  if (request.maxMessages < 1) throw invalidArgument("max_messages is 1 at least");
  const waiting = new WaitingPull(subscription, Math.min(request.maxMessages, maxPullMessages));
  call.once("cancelled", () => waiting.end());
  waiting.begin(host.clock, request.returnImmediately);
  const deliveries = await waiting.messages;
  const countAttempts = subscription.settings.deadLetter !== undefined;
  return encodeReceived(deliveries, { ackIds: subscription.ackIds, countAttempts, tail: empty });
}
