/** The method AppendRows: one stream of requests and answers, with the faults that a script asks for. */
import * as grpc from "@grpc/grpc-js";
import { callEnding, endConnection, scriptedError, type CallEnding } from "../call-ending.ts";
import type { Fault } from "../faults.ts";
import { asRpcError, RpcError } from "../rpc-error.ts";
import type { MethodHost } from "../unary-method.ts";
import { AnswerQueue } from "./answer-queue.ts";
import { appendAnswer } from "./append-answer.ts";
import { AppendConnection, type AppendOutcome, type AppendSettings } from "./append-connection.ts";
import { AppendRefusal } from "./append-refusal.ts";
import { type AppendRequest, parseAppendRequest } from "./append-request.ts";
import type { Catalog } from "./catalog.ts";
import type { OpenStream, OpenStreams } from "./open-streams.ts";
import { requireRouting } from "./routing-header.ts";
import { scriptedProblems } from "./scripted-rows.ts";
import { Silence } from "./silence.ts";

type AppendCall = grpc.ServerDuplexStream<Buffer, object>;

/** The service ends a connection that was quiet for so long. */
const maxIdleMs = 600_000;

/** @param host with whose clock delays and silence are measured */
export function appendRows(
  host: MethodHost,
  catalog: Catalog,
  settings: AppendSettings,
  openStreams: OpenStreams,
): grpc.handleBidiStreamingCall<Buffer, object> {
  return (call) => {
    try {
      requireRouting(call.metadata, ["write_stream", "write_location"]);
      new AppendStream(call, host, new AppendConnection(catalog, host.clock, settings), openStreams).start();
    } catch (error) {
      call.emit("error", asRpcError(error));
    }
  };
}

class AppendStream implements OpenStream {
  readonly #call: AppendCall;
  readonly #host: MethodHost;
  readonly #connection: AppendConnection;
  readonly #openStreams: OpenStreams;
  readonly #answers: AnswerQueue;
  /** Neither request nor answer. */
  readonly #silence: Silence;
  /** The answer that ends the stream is on its way; what comes after its request has no effect. */
  #isEnding = false;

  constructor(call: AppendCall, host: MethodHost, connection: AppendConnection, openStreams: OpenStreams) {
    this.#call = call;
    this.#host = host;
    this.#connection = connection;
    this.#openStreams = openStreams;
    this.#answers = new AnswerQueue(host.clock);
    this.#silence = new Silence(host.clock, maxIdleMs, () => this.#endIdle());
  }

  /** @throws RpcError when there are too many already */
  start(): void {
    const call = this.#call;
    this.#openStreams.add(this);
    call.on("data", (bytes: Buffer) => this.#request(bytes));
    call.on("end", () => this.#answers.add(() => this.#close()));
    call.on("cancelled", () => this.#stop());
    call.on("close", () => this.#stop());
  }

  end(error: RpcError): void {
    this.#isEnding = true;
    this.#answers.add(() => this.#fail(error));
  }

  #request(bytes: Buffer): void {
    if (this.#isEnding || !this.#answers.isOpen) return;
    this.#silence.broken();
    const fault = this.#host.faults.next("AppendRows");
    try {
      const give = this.#serve(bytes, fault);
      this.#answers.add(give, fault?.delayMs);
    } catch (error) {
      const rpcError = asRpcError(error);
      this.#isEnding = true;
      this.#answers.add(() => this.#fail(rpcError), fault?.delayMs);
    }
  }

  /** Lets the request take effect, unless a fault forbids it, and says how it is answered. */
  #serve(bytes: Buffer, fault: Fault | undefined): () => boolean {
    const ending = fault && callEnding(fault);
    if (fault?.goaway) this.#host.server.goAway(this.#call);
    this.#isEnding = ending !== undefined;
    if (ending && !ending.afterwards) return () => this.#endBy(fault, ending);
    const request = parse(bytes);
    const outcome = fault?.error ? scripted(request, fault.error) : this.#append(request, fault);
    if (ending) return () => this.#endBy(fault, ending);
    const answer = appendAnswer(outcome);
    return () => {
      this.#silence.broken();
      this.#call.write(answer);
      return true;
    };
  }

  /** @throws RpcError when the connection cannot even begin: its table is not there */
  #append(request: AppendRequest, fault: Fault | undefined): AppendOutcome {
    const wasEstablished = this.#connection.isEstablished;
    const outcome = this.#connection.append(request, scriptedProblems(fault, request.protoRows ?? Buffer.alloc(0)));
    const { refusal, stream } = outcome;
    const { writeStream } = this.#connection;
    if (writeStream) this.#openStreams.claim(writeStream, this, stream);
    if (refusal?.status === "NOT_FOUND" && !wasEstablished) throw refusal.asRpcError();
    return { ...outcome, rowProblems: outcome.rowProblems.slice(0, fault?.rowErrorsContaining?.atMost) };
  }

  #endIdle(): void {
    const words = `Closing the stream because it has been inactive for ${maxIdleMs / 1000} seconds`;
    this.end(new RpcError("ABORTED", `${words}. Entity: ${this.#connection.entity}`));
  }

  #fail(error: RpcError): boolean {
    this.#stop();
    this.#call.emit("error", error);
    return false;
  }

  #endBy(fault: Fault, ending: CallEnding): boolean {
    const error = scriptedError(fault);
    if (error) return this.#fail(error);
    this.#stop();
    endConnection(this.#host.server, this.#call, ending);
    return false;
  }

  #close(): boolean {
    this.#stop();
    this.#call.end();
    return false;
  }

  #stop(): void {
    this.#silence.stop();
    this.#answers.close();
    this.#openStreams.remove(this);
  }
}

function parse(bytes: Buffer): AppendRequest {
  try {
    return parseAppendRequest(bytes);
  } catch {
    throw new RpcError("INVALID_ARGUMENT", "Request is no valid AppendRowsRequest");
  }
}

function scripted(request: AppendRequest, error: NonNullable<Fault["error"]>): AppendOutcome {
  const stream = request.writeStream;
  const storageFault = error.storageError === undefined ? undefined : { code: error.storageError, entity: stream };
  const refusal = new AppendRefusal(error.status, error.message, storageFault);
  return { stream, refusal, offset: undefined, rowProblems: [], updatedColumns: undefined };
}
