/** A Subscriber service that does what a test tells it and writes down what it is asked. */
import * as grpc from "@grpc/grpc-js";
import { GrpcServer, withBytes } from "../../src/emulator/grpc-server.ts";
import { pubsubProtos, serviceDefinition } from "../../src/lib/protos.ts";

export interface FakeMessage {
  readonly ackId: string;
  readonly data?: string | Buffer;
  readonly messageId?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly orderingKey?: string;
  readonly publishTime?: { readonly seconds: number; readonly nanos: number };
  readonly deliveryAttempt?: number;
}

export interface DeadlineChange {
  readonly ackIds: readonly string[];
  readonly seconds: number;
}

interface StreamRequest {
  readonly subscription: string;
  readonly streamAckDeadlineSeconds: number;
  readonly clientId: string;
  readonly maxOutstandingMessages: string;
  readonly maxOutstandingBytes: string;
}

type Failure = { code: grpc.status; details: string };

export class FakeStream {
  readonly requests: StreamRequest[] = [];
  readonly #call: grpc.ServerDuplexStream<StreamRequest, Buffer>;
  /** Responses that gRPC has not taken off our hands yet. */
  unsent = 0;
  halfClosed = false;
  open = true;

  constructor(call: grpc.ServerDuplexStream<StreamRequest, Buffer>) {
    this.#call = call;
    call.on("data", (request: StreamRequest) => this.requests.push(request));
    call.on("end", () => {
      this.halfClosed = true;
      this.open = false;
      call.end();
    });
    call.on("cancelled", () => (this.open = false));
    call.on("error", () => (this.open = false));
  }

  sendHeaders(): void {
    this.#call.sendMetadata(new grpc.Metadata());
  }

  send(messages: readonly FakeMessage[]): void {
    this.sendBytes(encodeResponse(messages));
  }

  sendBytes(bytes: Buffer): void {
    this.unsent++;
    this.#call.write(bytes, () => this.unsent--);
  }

  fail(code: grpc.status, details = "as the test says"): void {
    this.open = false;
    this.#call.emit("error", { code, details });
  }
}

export class FakeSubscriber {
  readonly streams: FakeStream[] = [];
  readonly acks: string[] = [];
  readonly deadlines: DeadlineChange[] = [];
  ackRequests = 0;
  /** Sent at once on every stream. Undefined: the stream stays silent. */
  greeting: readonly FakeMessage[] | "headers" | undefined = "headers";
  /** What the next StreamingPull, Acknowledge or ModifyAckDeadline calls fail with, in turn. */
  readonly streamFailures: Failure[] = [];
  readonly ackFailures: Failure[] = [];
  readonly deadlineFailures: Failure[] = [];
  readonly #server = new GrpcServer();

  async start(): Promise<void> {
    const definition = serviceDefinition(pubsubProtos(), "google.pubsub.v1.Subscriber");
    this.#server.addService(withBytes(definition, "StreamingPull", "response"), {
      StreamingPull: (call: grpc.ServerDuplexStream<StreamRequest, Buffer>) => this.#open(call),
      Acknowledge: (call: { request: { ackIds: string[] } }, callback: grpc.sendUnaryData<object>) => {
        this.ackRequests++;
        const failure = this.ackFailures.shift();
        if (!failure) this.acks.push(...call.request.ackIds);
        callback(failure ?? null, {});
      },
      ModifyAckDeadline: (
        call: { request: { ackIds: string[]; ackDeadlineSeconds: number } },
        callback: grpc.sendUnaryData<object>,
      ) => {
        const { ackIds, ackDeadlineSeconds: seconds } = call.request;
        const failure = this.deadlineFailures.shift();
        if (!failure) this.deadlines.push({ ackIds, seconds });
        callback(failure ?? null, {});
      },
    });
    await this.#server.listen();
  }

  get port(): number {
    return this.#server.port;
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #open(call: grpc.ServerDuplexStream<StreamRequest, Buffer>): void {
    const stream = new FakeStream(call);
    this.streams.push(stream);
    const failure = this.streamFailures.shift();
    if (failure) stream.fail(failure.code, failure.details);
    else if (this.greeting === "headers") stream.sendHeaders();
    else if (this.greeting) stream.send(this.greeting);
  }
}

/** @param subscriptionProperties as the service tells them; by default it does not */
export function encodeResponse(messages: readonly FakeMessage[], subscriptionProperties?: object): Buffer {
  const type = pubsubProtos().lookupType("google.pubsub.v1.StreamingPullResponse");
  const receivedMessages = messages.map(({ ackId, deliveryAttempt = 0, ...message }) => ({
    ackId,
    deliveryAttempt,
    message: {
      messageId: "1",
      publishTime: { seconds: 1_700_000_000, nanos: 0 },
      ...message,
      data: Buffer.from(message.data ?? ""),
    },
  }));
  return Buffer.from(
    type
      .encode(type.fromObject({ receivedMessages, ...(subscriptionProperties && { subscriptionProperties }) }))
      .finish(),
  );
}
