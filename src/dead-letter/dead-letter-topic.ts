/** Dead letters go to a Pub/Sub topic. */
import type * as grpc from "@grpc/grpc-js";
import type { Logger } from "pino";
import { type Clock, pause } from "../lib/clock.ts";
import { type Credentials, type Endpoint, openClient } from "../lib/endpoint.ts";
import { LimitedLog } from "../lib/limited-log.ts";
import { MemoryShare } from "../lib/memory-share.ts";
import { LoggedState } from "../lib/logged-state.ts";
import { callUnary, detailsOf, routingHeader, statusOf } from "../lib/raw-call.ts";
import { backoffMs } from "../lib/retry.ts";
import { Turns } from "../lib/turns.ts";
import type { PipelineState } from "../message.ts";
import type { DeadLetter, DeadLetterQueue, LetterFailure, PublishResult } from "./dead-letter.ts";
import type { LetterOrigin } from "./letter-attributes.ts";
import { openingObstacle, type SourceTopic } from "./opening-obstacle.ts";
import { type PublishFailure, publishFailure } from "./publish-failure.ts";
import {
  encodeLetter,
  type EncodedMessage,
  type LetterLimits,
  publishPath,
  PublishRequest,
} from "./publish-request.ts";

export interface DeadLetterTopicOptions extends LetterOrigin, LetterLimits {
  /** `projects/P/topics/T` */
  readonly topic: string;
  /** Bytes that requests under way may take, gRPC's frames included. */
  readonly maxLetterBytes: number;
  readonly endpoint: Endpoint;
  readonly credentials: Credentials | undefined;
  /** Asks for the topic that the messages come from. Never rejects. */
  readonly sourceTopic: (signal: AbortSignal) => Promise<SourceTopic>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
}

/** A letter on its way, with the place of its result. */
interface Posting {
  readonly letter: DeadLetter;
  readonly index: number;
  /** How many of its forms the topic has refused. */
  readonly form: number;
}

/** Letters that are published one request after the other: those of one ordering key, or those without. */
interface Round {
  readonly keyed: boolean;
  /** Of all letters of the call, in the order in which they were given. */
  readonly results: PublishResult[];
  /** A letter of the round is not published. */
  broken: boolean;
  /** A request of the round was given up at the end: what comes behind it is not to be published before it. */
  stopped: boolean;
}

/** What became of one request: the letters in it, and the first one behind it. */
interface Published {
  readonly result: PublishResult;
  readonly sent: readonly Posting[];
  readonly reached: number;
}

const published: PublishResult = { ok: true };
const stopping = notPublished("stopping", "Millrace is stopping; the letter was not published.");
const behind = notPublished("behind", "A letter before it of the same ordering key is not published.");

/** An exception costs its own letter only. Its words may quote the message, so only its class is told. */
function defect(error: unknown): PublishResult {
  const type = error instanceof Error ? error.constructor.name : typeof error;
  return notPublished(
    "refused",
    `Millrace failed to put the letter together (${type}), which is a defect of Millrace.`,
  );
}

function notPublished(why: LetterFailure, reason: string): PublishResult {
  return { ok: false, why, reason };
}

const maxRequestsInFlight = 16;
const callTimeoutMs = 60_000;
/** So many failures in a row are told; fewer are ordinary. */
const toldFailures = 3;

export class DeadLetterTopic implements DeadLetterQueue {
  readonly #options: DeadLetterTopicOptions;
  readonly #client: grpc.Client;
  readonly #metadata: grpc.Metadata;
  readonly #turns = new Turns(maxRequestsInFlight);
  readonly #memory: MemoryShare;
  /** The last work of each ordering key under way: letters of a key are published one request after the other. */
  readonly #keys = new Map<string, Promise<void>>();
  /** Aborted when the end is near, and at the end. */
  readonly #drain = new AbortController();
  readonly #stop = new AbortController();
  readonly #refusalLog: LimitedLog;
  readonly #told: LoggedState;

  constructor(options: DeadLetterTopicOptions) {
    this.#options = options;
    const { topic, endpoint, credentials, clock, log } = options;
    this.#memory = new MemoryShare(options.maxLetterBytes);
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
   * Holds as long as the dead-letter topic is the one that the subscription belongs to, or that may turn out: letters would
   * come back as messages.
   */
  async open(signal: AbortSignal): Promise<void> {
    const { topic, subscription, sourceTopic, clock } = this.#options;
    while (!signal.aborted) {
      const obstacle = openingObstacle(await sourceTopic(signal), topic, subscription);
      if (!obstacle) break;
      this.#told.become(obstacle.state, obstacle.reason);
      await pause(clock, obstacle.pauseMs, signal);
    }
    this.#told.become("ACTIVE");
  }

  /**
   * A missing topic or permission and whatever passes by itself is waited for. Not published is only a letter that the topic
   * takes in no form, one that runs in circles, and one that still waits at the end.
   */
  async publish(letters: readonly DeadLetter[]): Promise<readonly PublishResult[]> {
    const results: PublishResult[] = Array.from(letters, () => stopping);
    const byKey = Map.groupBy(
      letters.map((letter, index): Posting => ({ letter, index, form: 0 })),
      ({ letter }) => letter.batch.orderingKey(letter.message),
    );
    const rounds = [...byKey].map(([key, postings]) => {
      const round: Round = { keyed: key !== "", results, broken: false, stopped: false };
      return this.#inTurn(key, () => this.#publishAll(round, postings));
    });
    await Promise.all(rounds);
    return results;
  }

  drain(): void {
    this.#drain.abort();
  }

  async close(): Promise<void> {
    this.#drain.abort();
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

  async #publishAll(round: Round, postings: readonly Posting[]): Promise<void> {
    for (let from = 0; from < postings.length && !round.stopped && !this.#stop.signal.aborted;) {
      const { result, sent, reached } = await this.#turns.take(() => this.#publishFrom(round, postings, from));
      await this.#note(round, result, sent);
      from = reached;
    }
  }

  /** Publishes as many letters as a request takes, from `from` on. */
  async #publishFrom(round: Round, postings: readonly Posting[], from: number): Promise<Published> {
    let { sent, reached }: Pick<Published, "sent" | "reached"> = { sent: [], reached: from };
    const result = await this.#memory.take(() => {
      const request = new PublishRequest(this.#options.topic);
      ({ sent, reached } = this.#fill(request, round, postings, from));
      const { bytes } = request;
      const done = sent.length === 0 ? Promise.resolve(published) : this.#sendUntilAnswered(bytes);
      // Kept for another try, and once more as gRPC's frame.
      return { bytes: 2 * bytes.length, done };
    });
    return { result, sent, reached };
  }

  #fill(
    request: PublishRequest,
    round: Round,
    postings: readonly Posting[],
    from: number,
  ): Pick<Published, "sent" | "reached"> {
    const sent: Posting[] = [];
    let reached = from;
    for (; reached < postings.length; reached++) {
      const message = this.#encode(round, postings[reached]!);
      if (!message) continue;
      if (!request.add(message)) break;
      sent.push(postings[reached]!);
    }
    return { sent, reached };
  }

  /** Undefined for a letter that is not to be published (any more); its result is noted. */
  #encode(round: Round, { letter, index, form }: Posting): EncodedMessage | undefined {
    if (round.keyed && round.broken) return this.#fail(round, index, behind);
    try {
      const message = encodeLetter(letter, this.#options, form);
      if (message === "circling") return this.#fail(round, index, this.#circling());
      // The topic's answer to the last form is the result.
      if (message === "spent") return this.#fail(round, index, round.results[index]!);
      return message;
    } catch (error) {
      return this.#fail(round, index, defect(error));
    }
  }

  #fail(round: Round, index: number, result: PublishResult): undefined {
    round.broken = true;
    round.results[index] = result;
    if (!result.ok) this.#refusalLog.warn({ why: result.why, reason: result.reason }, "a dead letter is not published");
  }

  #circling(): PublishResult {
    const { topic, subscription, maxDeliveryAttempts } = this.#options;
    return notPublished(
      "circling",
      `The message is a dead letter that came back, and its count of deliveries has reached ${maxDeliveryAttempts} ("deadLetter.maxDeliveryAttempts"): it is given back from now on. Does ${topic} feed ${subscription}?`,
    );
  }

  /** One letter that the topic refuses does not keep the others of its request: it is searched for, and tried in another form. */
  async #note(round: Round, result: PublishResult, sent: readonly Posting[]): Promise<void> {
    round.stopped ||= !result.ok && result.why === "stopping";
    // Letters that are searched through have their results later.
    if (result.ok || round.stopped || sent.length === 1) for (const { index } of sent) round.results[index] = result;
    if (result.ok || round.stopped) return;
    if (sent.length === 1) await this.#publishAll(round, [{ ...sent[0]!, form: sent[0]!.form + 1 }]);
    else {
      const half = sent.length >> 1;
      await this.#publishAll(round, sent.slice(0, half));
      await this.#publishAll(round, sent.slice(half));
    }
  }

  async #sendUntilAnswered(request: Buffer): Promise<PublishResult> {
    for (let failures = 0; !this.#stop.signal.aborted;) {
      const failure = await this.#send(request);
      if (!failure) this.#told.become("ACTIVE");
      if (failure?.kind !== "again") return failure ? notPublished("refused", failure.reason) : published;
      if (this.#stop.signal.aborted) break;
      failures++;
      if (failure.setup || failures >= toldFailures) this.#told.become(failure.state, failure.reason);
      if (failure.setup && this.#drain.signal.aborted) break;
      const waitMs = backoffMs(failures - 1, failure.backoff, this.#options.random);
      await pause(this.#options.clock, waitMs, (failure.setup ? this.#drain : this.#stop).signal);
    }
    return stopping;
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
