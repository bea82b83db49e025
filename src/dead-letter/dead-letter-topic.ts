/** Dead letters go to a Pub/Sub topic. */
import type * as grpc from "@grpc/grpc-js";
import type { Logger } from "pino";
import { type Clock, pause } from "../lib/clock.ts";
import { type Credentials, type Endpoint, openClient } from "../lib/endpoint.ts";
import { LimitedLog } from "../lib/limited-log.ts";
import { LoggedState } from "../lib/logged-state.ts";
import { callUnary, detailsOf, routingHeader, statusOf } from "../lib/raw-call.ts";
import { backoffMs } from "../lib/retry.ts";
import { Turns } from "../lib/turns.ts";
import type { PipelineState } from "../message.ts";
import type { DeadLetter, DeadLetterQueue, PublishResult } from "./dead-letter.ts";
import type { LetterOrigin } from "./letter-attributes.ts";
import { type PublishFailure, publishFailure } from "./publish-failure.ts";
import { encodeLetter, publishPath, PublishRequest } from "./publish-request.ts";

export interface DeadLetterTopicOptions extends LetterOrigin {
  /** `projects/P/topics/T` */
  readonly topic: string;
  readonly endpoint: Endpoint;
  readonly credentials: Credentials | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
}

/** A letter on its way, with the place of its result. */
interface Posting {
  readonly letter: DeadLetter;
  readonly index: number;
}

const published: PublishResult = { ok: true };
const closedBefore: PublishResult = { ok: false, reason: "Millrace is stopping; the letter was not published." };

const maxRequestsInFlight = 16;
const callTimeoutMs = 60_000;
/** So many failures in a row are told; fewer are ordinary. */
const toldFailures = 3;

export class DeadLetterTopic implements DeadLetterQueue {
  readonly #options: DeadLetterTopicOptions;
  readonly #client: grpc.Client;
  readonly #metadata: grpc.Metadata;
  readonly #turns = new Turns(maxRequestsInFlight);
  /** The last work of each ordering key under way: letters of a key are published one request after the other. */
  readonly #keys = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  readonly #refusalLog: LimitedLog;
  readonly #told: LoggedState;

  constructor(options: DeadLetterTopicOptions) {
    this.#options = options;
    const { topic, endpoint, credentials, clock, log } = options;
    this.#told = new LoggedState("ACTIVE", log, { topic }, "the dead-letter topic changed its state");
    this.#client = openClient(endpoint, credentials);
    this.#refusalLog = new LimitedLog(log, clock);
    this.#metadata = routingHeader("topic", topic);
  }

  get state(): PipelineState {
    return this.#told.state;
  }

  get stateReason(): string {
    return this.#told.reason;
  }

  /**
   * A missing topic or permission and whatever passes by itself is waited for; only a letter that the topic refuses as such,
   * or that is still waiting when the topic is closed, is not published.
   */
  async publish(letters: readonly DeadLetter[]): Promise<readonly PublishResult[]> {
    const results: PublishResult[] = Array.from(letters, () => closedBefore);
    const byKey = Map.groupBy(
      letters.map((letter, index) => ({ letter, index })),
      ({ letter }) => letter.batch.orderingKey(letter.message),
    );
    await Promise.all(
      [...byKey].map(([key, postings]) => this.#inTurn(key, () => this.#publishAll(postings, results))),
    );
    return results;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#keys.values());
    this.#client.close();
    this.#told.become("STOPPED");
  }

  /** Does work that concerns an ordering key after the work that came before it; letters without a key need not wait. */
  async #inTurn(key: string, work: () => Promise<void>): Promise<void> {
    if (key === "") return work();
    const mine = (this.#keys.get(key) ?? Promise.resolve()).then(work);
    this.#keys.set(key, mine);
    await mine;
    if (this.#keys.get(key) === mine) this.#keys.delete(key);
  }

  async #publishAll(postings: readonly Posting[], results: PublishResult[]): Promise<void> {
    for (let from = 0; from < postings.length && !this.#stop.signal.aborted;) {
      const { result, reached } = await this.#turns.take(() => this.#publishFrom(postings, from));
      await this.#note(result, postings.slice(from, reached), results);
      from = reached;
    }
  }

  /** Publishes as many letters as a request takes, from `from` on. */
  async #publishFrom(
    postings: readonly Posting[],
    from: number,
  ): Promise<{ readonly result: PublishResult; readonly reached: number }> {
    const request = new PublishRequest(this.#options.topic);
    let reached = from;
    while (reached < postings.length && request.add(encodeLetter(postings[reached]!.letter, this.#options))) reached++;
    return { result: await this.#sendUntilAnswered(request.bytes), reached };
  }

  /** One bad letter does not keep the others of its request: they are then published one by one. */
  async #note(result: PublishResult, postings: readonly Posting[], results: PublishResult[]): Promise<void> {
    if (result.ok || result === closedBefore || postings.length === 1) {
      for (const { index } of postings) results[index] = result;
      if (!result.ok && !this.#stop.signal.aborted) {
        this.#refusalLog.warn({ reason: result.reason }, "a dead letter is not published");
      }
      return;
    }
    for (const posting of postings) await this.#publishAll([posting], results);
  }

  async #sendUntilAnswered(request: Buffer): Promise<PublishResult> {
    for (let failures = 0; !this.#stop.signal.aborted;) {
      const failure = await this.#send(request);
      if (!failure) this.#told.become("ACTIVE");
      if (failure?.kind !== "again") return failure ? { ok: false, reason: failure.reason } : published;
      if (this.#stop.signal.aborted) break;
      failures++;
      if (failure.setup || failures >= toldFailures) this.#told.become(failure.state, failure.reason);
      const waitMs = backoffMs(failures - 1, failure.backoff, this.#options.random);
      await pause(this.#options.clock, waitMs, this.#stop.signal);
    }
    return closedBefore;
  }

  /** Undefined when the service has the letters. */
  async #send(request: Buffer): Promise<PublishFailure | undefined> {
    try {
      await callUnary({
        client: this.#client,
        path: publishPath,
        metadata: this.#metadata,
        request,
        timeoutMs: callTimeoutMs,
        signal: this.#stop.signal,
      });
      return undefined;
    } catch (error) {
      return publishFailure(statusOf(error), detailsOf(error), this.#options.topic);
    }
  }
}
