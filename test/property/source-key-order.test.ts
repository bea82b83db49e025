/**
 * Ordering keys at the source, whatever becomes of batches and of requests: a message is acked after those before it of its
 * key, what is behind one that is given back goes back with it, each delivery ends once, and nothing stays held.
 * `PROPERTY_SEED` repeats a run, `PROPERTY_RUNS` sets how many there are.
 */
import { expect, test, vi } from "vitest";
import { Fates, type MessageBatch } from "../../src/message.ts";
import type { StreamingPull } from "../../src/source/streaming-pull.ts";
import { ModelSubscription, type SubscriptionTraits } from "../support/model-subscription.ts";
import { modelledSource, SourceCounts } from "../support/modelled-source.ts";
import { propertySeed } from "../support/property-seed.ts";
import { chance, choicesOf, type Choose, pick } from "../support/random-choices.ts";
import { VirtualClock } from "../support/virtual-clock.ts";

vi.mock("../../src/lib/endpoint.ts", { spy: true });

const runs = Number(process.env["PROPERTY_RUNS"] ?? 40);

/** Whoever takes batches: settles them in any order, after any time, and gives anything back. */
class Consumer {
  readonly counts = new SourceCounts();
  calm = false;
  readonly #choose: Choose;
  readonly #clock: VirtualClock;
  readonly #source: StreamingPull;
  readonly #stop = new AbortController();

  constructor(choose: Choose, clock: VirtualClock, service: ModelSubscription) {
    this.#choose = choose;
    this.#clock = clock;
    this.#source = modelledSource({
      service,
      clock,
      counts: this.counts,
      pull: { streams: 1 + choose(0, 2) },
      random: () => choose(0, 999) / 1000,
    });
  }

  async run(): Promise<void> {
    await this.#source.open(this.#stop.signal);
    for await (const batch of this.#source.batches(this.#stop.signal)) {
      const slow = chance(this.#choose, 10) ? 200_000 : 8000;
      this.#clock.setTimer(() => this.#settle(batch), this.calm ? 10 : this.#choose(0, slow));
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#source.close();
  }

  #settle(batch: MessageBatch): void {
    const fates = new Fates(batch.length);
    for (let i = 0; i < batch.length; i++) {
      if (!this.calm && chance(this.#choose, 6)) fates.nack(i, pick(this.#choose, [0, 0, 1, 900, 5000, 40_000]));
    }
    void this.#source.settle(batch, fates);
  }
}

async function trial(seed: number, traits: SubscriptionTraits): Promise<Record<string, unknown>> {
  const choose = choicesOf(seed);
  const clock = new VirtualClock();
  const service = new ModelSubscription(traits, choose, clock);
  const consumer = new Consumer(choose, clock, service);
  const consumed = consumer.run();
  const keys = choose(1, 6);
  for (let step = 0; step < 120; step++) {
    const key = choose(0, keys);
    for (let k = choose(0, 3); k > 0; k--) service.publish(key === keys ? "" : `key${key}`);
    service.publish("key0");
    service.deliver(choose(1, 12));
    await clock.advance(choose(1, 2500));
  }
  service.calm = true;
  consumer.calm = true;
  for (let step = 0; step < 4000 && !service.settled; step++) {
    service.deliver(40);
    await clock.advance(1000);
  }
  await clock.advance(700_000);
  const end = { settled: service.settled, faults: service.faults, held: consumer.counts.held };
  const closed = consumer.close();
  await clock.advance(10_000);
  await Promise.all([closed, consumed]);
  hardships += Number(service.failedCalls > 0 && service.givenBack > 0);
  return { ...end, timers: clock.pending };
}

let hardships = 0;

const subscriptions = [
  { exactlyOnce: false, rewinds: false },
  { exactlyOnce: false, rewinds: true },
  { exactlyOnce: true, rewinds: false },
  { exactlyOnce: true, rewinds: true },
];

test.each(subscriptions)(
  `exactly once: $exactlyOnce, rewinds: $rewinds (PROPERTY_SEED=${propertySeed}, ${runs} runs)`,
  async (traits) => {
    hardships = 0;
    for (let run = 0; run < runs; run++) {
      const seed = propertySeed + run;
      expect(await trial(seed, traits), `PROPERTY_SEED=${seed} PROPERTY_RUNS=1`).toEqual({
        settled: true,
        faults: [],
        held: { messages: 0, bytes: 0, leases: 0 },
        timers: 0,
      });
    }
    // Otherwise nothing had ever gone wrong.
    expect(hardships).toBeGreaterThan(0);
  },
  240_000,
);
