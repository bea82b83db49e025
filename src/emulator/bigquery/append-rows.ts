/** The method AppendRows: one stream of requests and answers, with the faults that a script asks for. */
import * as grpc from "@grpc/grpc-js";
import type { Clock, Timer } from "../../lib/clock.ts";
import { callEnding, endConnection, scriptedError, type CallEnding } from "../call-ending.ts";
import type { Fault } from "../faults.ts";
import { asRpcError, RpcError } from "../rpc-error.ts";
import type { MethodHost } from "../unary-method.ts";
import { AnswerQueue } from "./answer-queue.ts";
import { appendAnswer } from "./append-answer.ts";
import { AppendConnection, type AppendLimits, type AppendOutcome } from "./append-connection.ts";
import { AppendRefusal } from "./append-refusal.ts";
import { type AppendRequest, parseAppendRequest } from "./append-request.ts";
import type { Catalog } from "./catalog.ts";
import { requireRouting } from "./routing-header.ts";
import { scriptedProblems } from "./scripted-rows.ts";

type AppendCall = grpc.ServerDuplexStream<Buffer, object>;

/** The service ends a connection that was quiet for so long. */
const maxIdleMs = 600_000;

/** @param host with whose clock delays and silence are measured */
export function appendRows(
  host: MethodHost,
  catalog: Catalog,
  limits: AppendLimits,
): grpc.handleBidiStreamingCall<Buffer, object> {
  return (call) => {
    try {
      requireRouting(call.metadata, ["write_stream", "write_location"]);
      new AppendStream(call, host, new AppendConnection(catalog, host.clock, limits)).start();
    } catch (error) {
      call.emit("error", asRpcError(error));
    }
  };
}

class AppendStream {
  readonly #call: AppendCall;
  readonly #host: MethodHost;
  readonly #connection: AppendConnection;
  readonly #answers: AnswerQueue;
  readonly #silence: Silence;
  /** The answer that ends the stream is on its way; what comes after its request has no effect. */
  #isEnding = false;

  constructor(call: AppendCall, host: MethodHost, connection: AppendConnection) {
    this.#call = call;
    this.#host = host;
    this.#connection = connection;
    this.#answers = new AnswerQueue(host.clock);
    this.#silence = new Silence(host.clock, maxIdleMs, () => this.#endIdle());
  }

  start(): void {
    const call = this.#call;
    call.on("data", (bytes: Buffer) => this.#request(bytes));
    call.on("end", () => this.#answers.add(() => this.#close()));
    call.on("cancelled", () => this.#stop());
    call.on("close", () => this.#stop());
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
      this.#call.write(answer);
      return true;
    };
  }

  /** @throws RpcError when the connection cannot even begin: its table is not there */
  #append(request: AppendRequest, fault: Fault | undefined): AppendOutcome {
    const wasEstablished = this.#connection.isEstablished;
    const outcome = this.#connection.append(request, scriptedProblems(fault, request.protoRows ?? Buffer.alloc(0)));
    const { refusal } = outcome;
    if (refusal?.status === "NOT_FOUND" && !wasEstablished) throw refusal.asRpcError();
    return { ...outcome, rowProblems: outcome.rowProblems.slice(0, fault?.rowErrorsContaining?.atMost) };
  }

  #endIdle(): void {
    const message = `Connection was inactive for ${maxIdleMs / 1000} seconds and is closed by the server`;
    this.#answers.add(() => this.#fail(new RpcError("ABORTED", message)));
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

/** Calls once when nothing was heard for so long. One timer at a time, however many requests come. */
class Silence {
  readonly #clock: Clock;
  readonly #maxMs: number;
  readonly #onEnd: () => void;
  #lastMs: number;
  #timer: Timer;

  constructor(clock: Clock, maxMs: number, onEnd: () => void) {
    this.#clock = clock;
    this.#maxMs = maxMs;
    this.#onEnd = onEnd;
    this.#lastMs = clock.monotonic();
    this.#timer = clock.setTimer(() => this.#check(), maxMs);
  }

  broken(): void {
    this.#lastMs = this.#clock.monotonic();
  }

  stop(): void {
    this.#timer.cancel();
  }

  #check(): void {
    const leftMs = this.#lastMs + this.#maxMs - this.#clock.monotonic();
    if (leftMs <= 0) this.#onEnd();
    else this.#timer = this.#clock.setTimer(() => this.#check(), leftMs);
  }
}
