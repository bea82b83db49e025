/**
 * A snapshot: what a subscription had not acked at one moment, and everything published to its topic since. It lives for
 * seven days less the age of the oldest of these messages.
 */
import { invalidArgument, RpcError } from "../rpc-error.ts";
import { fromTimestamp, toTimestamp, type Timestamp } from "./duration.ts";
import { checkLabels, type Labels } from "./labels.ts";
import type { StoredMessage } from "./stored-message.ts";

/** `google.pubsub.v1.Snapshot` as it is decoded, absent fields filled. */
export interface SnapshotResource {
  readonly name: string;
  readonly topic: string;
  readonly expireTime: Timestamp | null;
  readonly labels: Labels;
}

const hourMs = 3_600_000;
const mostLifeMs = 7 * 24 * hourMs;
const leastLifeMs = hourMs;

export class Snapshot {
  readonly name: string;
  readonly #createdMs: number;
  readonly #messages: StoredMessage[];
  labels: Labels;
  /** Milliseconds since 1970-01-01 UTC. */
  expireMs: number;

  /**
   * @param unacked what the subscription has not acked, in order of publication
   * @throws RpcError FAILED_PRECONDITION when it would not live for an hour
   */
  constructor(name: string, labels: Labels, unacked: readonly StoredMessage[], nowMs: number) {
    this.name = name;
    this.labels = checkLabels(labels);
    this.#messages = [...unacked];
    this.#createdMs = nowMs;
    this.expireMs = (unacked[0]?.publication.publishTimeMs ?? nowMs) + mostLifeMs;
    if (this.expireMs - nowMs < leastLifeMs) {
      throw new RpcError(
        "FAILED_PRECONDITION",
        "The subscription's backlog is too old: the snapshot would expire in less than an hour",
      );
    }
  }

  get messages(): readonly StoredMessage[] {
    return this.#messages;
  }

  /** Newly published messages. */
  keep(messages: readonly StoredMessage[]): void {
    this.#messages.push(...messages);
  }

  /**
   * Takes the masked fields from `changes`.
   *
   * @throws RpcError INVALID_ARGUMENT when the mask is empty or names a field that cannot be changed, or the time is past
   *   or more than seven days after the snapshot's creation
   */
  update({ labels, expireTime }: SnapshotResource, paths: readonly string[], nowMs: number): void {
    if (paths.length === 0) throw invalidArgument("The update mask is empty");
    const unknown = paths.find((path) => path !== "labels" && path !== "expire_time");
    if (unknown) throw invalidArgument(`${unknown} of a snapshot cannot be changed`);
    const newLabels = paths.includes("labels") ? checkLabels(labels) : this.labels;
    if (paths.includes("expire_time")) this.expireMs = this.#readExpireMs(expireTime, nowMs);
    this.labels = newLabels;
  }

  /** @param topic what its topic is called now */
  toResource(topic: string): SnapshotResource {
    return { name: this.name, topic, expireTime: toTimestamp(this.expireMs), labels: this.labels };
  }

  #readExpireMs(time: Timestamp | null, nowMs: number): number {
    const ms = time ? fromTimestamp(time) : NaN;
    if (ms > nowMs && ms <= this.#createdMs + mostLifeMs) return ms;
    throw invalidArgument("expire_time of a snapshot is in the future, and at most seven days after its creation");
  }
}
