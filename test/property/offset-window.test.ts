/**
 * Appends with offsets against a server whose answers get lost, come as failures, or whose connections end while
 * requests are still under way and take effect later: each good row is in the table exactly once, each bad one never.
 * `PROPERTY_SEED` repeats a run, `PROPERTY_RUNS` sets how many there are.
 */
import { expect, test } from "vitest";
import { type Decided, type OffsetAnswer, OffsetWindow } from "../../src/bigquery/offset-window.ts";
import { type ModelAppend, ModelWriteStream } from "../support/model-write-stream.ts";
import { propertySeed } from "../support/property-seed.ts";
import { chance, choicesOf, type Choose, pick, times } from "../support/random-choices.ts";

const runs = Number(process.env["PROPERTY_RUNS"] ?? 4000);

/** A request of the writer; the same rows travel in the same object until something is known of them. */
interface Append {
  readonly rows: readonly string[];
}

class Writer {
  readonly #choose: Choose;
  /** Appends that go to whichever stream is next. */
  readonly #free: Append[];
  /** Appends that somebody else has for a while. */
  #away: Append[] = [];
  readonly table: string[] = [];
  readonly told: string[] = [];
  readonly refused: string[] = [];
  /** Requests of connections that are gone; the server may still read them. */
  readonly #zombies: { readonly stream: ModelWriteStream; readonly append: ModelAppend }[] = [];
  streams: ModelWriteStream[] = [];
  #stream!: ModelWriteStream;
  #window!: OffsetWindow<Append>;
  /** Requests on the connection, in order. */
  #connection: { readonly append: Append; readonly offset: number }[] = [];
  seals = 0;

  constructor(choose: Choose, appends: readonly Append[]) {
    this.#choose = choose;
    this.#free = [...appends];
    this.#open();
  }

  #open(): void {
    this.#stream = new ModelWriteStream(chance(this.#choose, 50));
    this.streams.push(this.#stream);
    this.#window = new OffsetWindow();
    this.#connection = [];
  }

  get done(): boolean {
    return this.#free.length + this.#away.length + this.#window.length === 0;
  }

  step(calm: boolean): void {
    const kind = this.#choose(0, 9);
    if (!calm && chance(this.#choose, 2)) this.#stream[pick(this.#choose, ["outdated", "finalized"] as const)] = true;
    if (this.#window.mustSeal) this.#seal();
    else if (this.#stream.outdated && this.#window.length === 0) this.#open();
    else if (kind < 4) this.#send();
    else if (kind < 8) this.#answer(calm);
    else if (kind === 8 && this.#away.length > 0) this.#window.giveBack(this.#away.shift()!);
    else if (!calm && chance(this.#choose, 50)) this.#cut();
    else this.#lateArrival();
  }

  #send(): void {
    const again = this.#window.next;
    if (again) this.#connection.push({ append: again, offset: this.#window.sendNext() });
    else if (this.#window.open && this.#free.length > 0 && this.#connection.length < 4) {
      const append = this.#free.shift()!;
      this.#connection.push({ append, offset: this.#window.add(append, append.rows.length) });
    }
  }

  #answer(calm: boolean): void {
    const sent = this.#connection.shift();
    if (!sent) return;
    const fails = !calm && chance(this.#choose, 25);
    // A failure that has no effect, or one that hides it.
    const effect = fails && chance(this.#choose, 50) ? undefined : put(this.#stream, at(sent));
    const answer: OffsetAnswer = fails || !effect ? "unsure" : effect;
    this.#apply(this.#window.answered(answer));
  }

  #cut(): void {
    const read = this.#choose(0, this.#connection.length);
    for (const sent of this.#connection.slice(0, read)) put(this.#stream, at(sent));
    for (const sent of this.#connection.slice(read)) this.#zombies.push({ stream: this.#stream, append: at(sent) });
    this.#connection = [];
    this.#apply(this.#window.interrupted());
  }

  #lateArrival(): void {
    if (this.#zombies.length === 0) return;
    const [zombie] = this.#zombies.splice(this.#choose(0, this.#zombies.length - 1), 1);
    put(zombie!.stream, zombie!.append);
  }

  #seal(): void {
    this.seals++;
    this.#stream.finalized = true;
    this.#away = [];
    this.#apply(this.#window.sealed(this.#stream.rows.length));
    this.#open();
  }

  #apply(decided: readonly Decided<Append>[]): void {
    for (const { append, outcome } of decided) {
      if (outcome === "stored" || outcome === "found") this.told.push(...append.rows);
      else if (outcome === "kept") continue;
      else if (outcome === "bound") this.#away.push(append);
      else if (outcome === "unknown") throw new Error("a server that keeps to the rules leaves nothing unknown");
      else this.#again(append, outcome === "refused");
    }
  }

  #again(append: Append, refused: boolean): void {
    if (!refused) {
      this.#free.unshift(append);
      return;
    }
    this.refused.push(...append.rows.filter(isBad));
    const good = append.rows.filter((row) => !isBad(row));
    if (good.length > 0) this.#free.unshift({ rows: good });
  }
}

const isBad = (row: string): boolean => row.startsWith("poison");
const put = (stream: ModelWriteStream, append: ModelAppend): OffsetAnswer =>
  stream.append(append, append.rows.some(isBad));
const at = ({ append, offset }: { append: Append; offset: number }): ModelAppend => ({ offset, rows: append.rows });

test(`each row exactly once (PROPERTY_SEED=${propertySeed}, ${runs} runs)`, () => {
  let seals = 0;
  for (let run = 0; run < runs; run++) {
    const choose = choicesOf(propertySeed + run);
    let number = 0;
    const appends = times(choose(1, 12), () => ({
      rows: times(choose(1, 3), () => `${pick(choose, ["good", "good", "good", "good", "poison"])} ${number++}`),
    }));
    const writer = new Writer(choose, appends);
    let steps = 0;
    for (; !writer.done && steps < 10_000; steps++) writer.step(steps > 300);
    for (let i = 0; i < 50; i++) writer.step(true);
    const all = appends.flatMap(({ rows }) => rows);
    const good = all.filter((row) => row.startsWith("good"));
    const inTable = writer.streams.flatMap(({ rows }) => rows);
    const seed = `PROPERTY_SEED=${propertySeed + run} PROPERTY_RUNS=1`;
    expect({
      seed,
      done: writer.done,
      inTable: inTable.toSorted(),
      told: [...writer.told].sort(),
      refused: [...writer.refused].sort(),
    }).toEqual({
      seed,
      done: true,
      inTable: good.toSorted(),
      told: good.toSorted(),
      refused: all.filter(isBad).sort(),
    });
    seals += writer.seals;
  }
  // Otherwise the hardest way was never gone.
  expect(seals).toBeGreaterThan(0);
});
