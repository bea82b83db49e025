/** A Publisher service that does what a test tells it and keeps what it is sent. */
import * as grpc from "@grpc/grpc-js";
import { GrpcServer } from "../../src/emulator/grpc-server.ts";
import { pubsubProtos, serviceDefinition } from "../../src/lib/protos.ts";

export interface PublishedMessage {
  readonly data: Buffer;
  readonly attributes: Readonly<Record<string, string>>;
  readonly orderingKey: string;
}

interface PublishCall {
  readonly topic: string;
  readonly messages: readonly PublishedMessage[];
}

export class FakePublisher {
  /** Requests that were taken. */
  readonly taken: PublishCall[] = [];
  calls = 0;
  /** What the next calls fail with, in turn. */
  readonly failures: { code: grpc.status; details: string }[] = [];
  /** A request that holds such a message is refused. */
  refuses: (message: PublishedMessage) => boolean = () => false;
  /** Called with every request before it is answered. */
  before: (call: PublishCall) => Promise<void> = () => Promise.resolve();
  readonly #server = new GrpcServer();

  async start(): Promise<void> {
    this.#server.addService(serviceDefinition(pubsubProtos(), "google.pubsub.v1.Publisher"), {
      Publish: (call: { request: PublishCall }, callback: grpc.sendUnaryData<object>) => {
        void this.#publish(call.request, callback);
      },
    });
    await this.#server.listen();
  }

  get port(): number {
    return this.#server.port;
  }

  get messages(): readonly PublishedMessage[] {
    return this.taken.flatMap(({ messages }) => messages);
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #publish(request: PublishCall, callback: grpc.sendUnaryData<object>): Promise<void> {
    this.calls++;
    await this.before(request);
    const failure = this.failures.shift();
    const refused = request.messages.some((message) => this.refuses(message));
    if (failure) callback(failure);
    else if (refused) callback({ code: grpc.status.INVALID_ARGUMENT, details: "one of them" });
    else {
      this.taken.push(request);
      callback(null, { messageIds: request.messages.map((_, i) => String(i)) });
    }
  }
}
