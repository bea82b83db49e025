/** A source in front of a modelled subscription. The test file has to mock `src/lib/endpoint.ts` with `{ spy: true }`. */
import pino from "pino";
import { vi } from "vitest";
import { openClient } from "../../src/lib/endpoint.ts";
import type { LeaseOptions } from "../../src/source/lease-manager.ts";
import type { PullObserver } from "../../src/source/pull-observer.ts";
import type { PullOptions } from "../../src/source/pull-streams.ts";
import { StreamingPull } from "../../src/source/streaming-pull.ts";
import type { ModelSubscription } from "./model-subscription.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** What a source tells of itself. */
export class SourceCounts implements PullObserver {
  held = { messages: 0, bytes: 0, leases: 0 };
  mostHeld = 0;
  readonly failures: string[] = [];
  readonly leaseEnds: string[] = [];

  received(): void {}
  responseDropped(): void {}
  acked(): void {}
  nacked(): void {}
  extended(): void {}
  streamOpened(): void {}
  streamClosed(): void {}
  timeToAck(): void {}

  requestFailed(kind: string, messages: number, code: string): void {
    this.failures.push(`${kind} ${messages} ${code}`);
  }

  leaseEnded(messages: number, reason: string): void {
    this.leaseEnds.push(`${reason} ${messages}`);
  }

  outstanding(messages: number, bytes: number, leases: number): void {
    this.held = { messages, bytes, leases };
    this.mostHeld = Math.max(this.mostHeld, messages);
  }
}

export interface ModelledSource {
  readonly service: ModelSubscription;
  readonly clock: VirtualClock;
  readonly counts: SourceCounts;
  readonly pull?: Partial<PullOptions>;
  readonly leases?: Partial<LeaseOptions>;
  readonly random?: () => number;
}

export function modelledSource({ service, clock, counts, pull, leases, random }: ModelledSource): StreamingPull {
  vi.mocked(openClient).mockImplementation(() => service.client);
  return new StreamingPull({
    subscription: "projects/acme/subscriptions/orders",
    pull: { streams: 1, maxOutstandingMessages: 60, maxOutstandingBytes: 1e6, ...pull },
    leases: {
      minDurationPerAckExtensionMs: 60_000,
      maxDurationPerAckExtensionMs: 600_000,
      maxAckExtensionPeriodMs: Infinity,
      releaseAfterMs: Infinity,
      ...leases,
    },
    endpoint: { host: "localhost", port: 1, plaintext: true },
    credentials: undefined,
    clock,
    log: pino({ level: "silent" }),
    observer: counts,
    random: random ?? (() => 0.5),
  });
}
