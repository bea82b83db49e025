/** One trial: the real command under a script of faults, and the judgement over what became of every message. */
import type { Fault } from "../../src/emulator/faults.ts";
import { eventually } from "../support/eventually.ts";
import type { MillraceProcess } from "../support/millrace-process.ts";
import { type Cause, causesOf } from "./duplicate-causes.ts";
import { type Extra, type Kind, refusedText } from "./ledger.ts";
import { RequestWatch } from "./request-watch.ts";
import type { EventKind, TrialScript } from "./trial-script.ts";
import { World } from "./world.ts";

export interface TrialReport {
  readonly messages: number;
  readonly rows: number;
  readonly letters: number;
  readonly extraRows: number;
  readonly extraLetters: number;
  /** What explains the extra ones. */
  readonly causes: readonly string[];
  readonly restarts: number;
  readonly rssMax: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** What is not as promised; empty when all is well. */
  readonly problems: readonly string[];
}

/** How long a trial may take to settle everything after its last message and event. */
const settleTimeoutMs = 90_000;
/** A process that holds nothing for so long will not settle what is still leased: longer than anything is delayed on its way. */
const idleMs = 3000;
const slices = 20;
/** Of a process with small messages: Node and the libraries take some 150 MB. */
const maxRss = 400 * 2 ** 20;

export async function runTrial(script: TrialScript): Promise<TrialReport> {
  const world = await World.open({
    faults: { pubsub: script.faults.pubsub ?? [], bigquery: withRefusals(script) },
    subscription: {
      enableMessageOrdering: script.keys > 0,
      enableExactlyOnceDelivery: script.exactlyOnceSubscription,
    },
    pipeline: script.pipeline,
  });
  try {
    world.start();
    const watch = new RequestWatch(world);
    const problems = await drive(script, world);
    watch.stop();
    world.settleLedger();
    return judge(script, world, watch, problems);
  } finally {
    await world.close();
  }
}

/** Publishes and does what the script says, waits until everything is settled, and stops. @returns what went wrong */
async function drive(script: TrialScript, world: World): Promise<string[]> {
  const problems: string[] = [];
  await Promise.all([publishAll(script, world), playEvents(script, world, problems)]);
  try {
    await settled(world, script.keys > 0);
  } catch (error) {
    problems.push(`${(error as Error).message}; ${await world.situation()}`);
  }
  const code = await world.stop();
  if (code !== 0) problems.push(`the process ended with ${code} after SIGTERM`);
  for (const millrace of world.processes) problems.push(...complaintsOf(millrace));
  return problems;
}

async function publishAll(script: TrialScript, world: World): Promise<void> {
  const kinds = kindsOf(script);
  const sliceLength = Math.ceil(kinds.length / slices);
  for (let from = 0; from < kinds.length; from += sliceLength) {
    const more = world.hasAddedColumn ? { added_2: "later" } : {};
    world.publish(
      kinds.slice(from, from + sliceLength).map((kind, i) => {
        const key = script.keys > 0 ? `key-${(from + i) % script.keys}` : "";
        return world.ledger.publish(kind, key, more);
      }),
    );
    await sleep(script.publishMs / slices);
  }
}

/** Bad messages stand evenly among the good ones. */
function kindsOf({ messages, unreadable, refused }: TrialScript): Kind[] {
  const kinds: Kind[] = Array.from({ length: messages }, () => "good");
  const bad = unreadable + refused;
  for (let i = 0; i < bad; i++) {
    kinds[Math.floor(((i + 0.5) * messages) / bad)] = (i * refused) % bad < refused ? "refused" : "unreadable";
  }
  return kinds;
}

async function playEvents({ events }: TrialScript, world: World, problems: string[]): Promise<void> {
  const start = performance.now();
  for (const { atMs, kind } of events.toSorted((a, b) => a.atMs - b.atMs)) {
    await sleep(start + atMs - performance.now());
    await play(kind, world, problems);
  }
}

async function play(kind: EventKind, world: World, problems: string[]): Promise<void> {
  switch (kind) {
    case "kill":
      await world.kill();
      return undefined;
    case "restart": {
      const code = await world.restart();
      if (code !== 0) problems.push(`the process ended with ${code} after SIGTERM, at a restart`);
      return undefined;
    }
    case "addColumn":
      return world.addColumn();
    case "recreateTable":
      return world.recreateTable();
    case "recreateSubscription":
      return world.recreateSubscription();
    case "cutPubSub":
      return world.pubsub.disconnectAll();
  }
}

/**
 * Waits until every message is acked. Leases that nobody has any more are let run out.
 *
 * @param ordered messages may wait for others of their key that are handed out
 */
async function settled(world: World, ordered: boolean): Promise<void> {
  let idleSince = Infinity;
  await eventually(
    "every message is settled",
    async () => {
      if (world.unsettled === 0) return true;
      if (!world.millrace.running) throw new Error("the process is gone");
      const now = performance.now();
      const nothingComes = ordered || world.subscription.backlog === 0;
      idleSince = nothingComes && (await world.isIdle()) ? Math.min(idleSince, now) : Infinity;
      if (now - idleSince < idleMs) return undefined;
      world.endLeases();
      idleSince = Infinity;
      return undefined;
    },
    settleTimeoutMs,
  );
}

/** BigQuery refuses some rows whatever else happens to their requests. */
function withRefusals({ faults, refused, named }: TrialScript): Fault[] {
  const script = faults.bigquery ?? [];
  if (refused === 0) return script;
  const rowErrorsContaining = {
    bytes: Buffer.from(refusedText).toString("hex"),
    message: "This row is not wanted",
    ...(named !== undefined && { atMost: named }),
  };
  const refusing = script.map((fault): Fault => {
    return fault.method === "AppendRows" ? Object.assign({ rowErrorsContaining }, fault) : fault;
  });
  return [...refusing, { method: "AppendRows", rowErrorsContaining }];
}

/** What a process wrote that none should write: anything but its log, and lines of severity fatal. */
export function complaintsOf(millrace: MillraceProcess): string[] {
  const strange = millrace.stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
  const fatal = millrace.log.filter(({ level }) => level === "fatal").map((line) => JSON.stringify(line));
  return [...strange, ...fatal].slice(0, 3).map((line) => `the process wrote: ${line}`);
}

function judge(script: TrialScript, world: World, watch: RequestWatch, before: readonly string[]): TrialReport {
  const { ledger } = world;
  const { extraRows, extraLetters } = ledger;
  const causes = causesOf(script, world);
  const requests = Object.fromEntries(watch.totals);
  const problems = [
    ...before,
    ...complain("lost", ledger.lost),
    ...complain("at the wrong place", ledger.misplaced),
    ...complain("written before an earlier one of its key", ledger.disordered),
    ...unexplained("rows", extraRows, causes),
    ...unexplained("letters", extraLetters, causes),
    ...tooMany(script, world.republished, watch),
  ];
  if (world.rssMax > maxRss) problems.push(`the process took ${Math.round(world.rssMax / 2 ** 20)} MB`);
  return {
    messages: ledger.entries.length,
    rows: ledger.entries.filter(({ rows }) => rows > 0).length,
    letters: ledger.entries.filter(({ letters }) => letters > 0).length,
    extraRows: extraRows.count,
    extraLetters: extraLetters.count,
    causes: namesOf(causes, extraRows, extraLetters),
    restarts: world.processes.length - 1,
    rssMax: world.rssMax,
    requests,
    seconds: watch.seconds,
    problems,
  };
}

function complain(what: string, entries: readonly { readonly number: number }[]): string[] {
  if (entries.length === 0) return [];
  return [
    `${entries.length} messages ${what}: ${entries
      .slice(0, 10)
      .map(({ number }) => number)
      .join(", ")} …`,
  ];
}

function unexplained(what: "rows" | "letters", { count, ofKills }: Extra, causes: readonly Cause[]): string[] {
  const explained = ofKills + causes.reduce((sum, cause) => sum + cause[what], 0);
  return count > explained ? [`${count} ${what} too many, of which ${explained} can be explained`] : [];
}

/** The causes that have come to anything. */
function namesOf(causes: readonly Cause[], rows: Extra, letters: Extra): string[] {
  const [otherRows, otherLetters] = [rows.count > rows.ofKills, letters.count > letters.ofKills];
  return [
    ...(rows.ofKills + letters.ofKills > 0 ? ["the process was killed between writing and acknowledging"] : []),
    ...causes
      .filter((cause) => (otherRows && cause.rows > 0) || (otherLetters && cause.letters > 0))
      .map(({ name }) => name),
  ];
}

/** Nothing spins: requests go with messages and with time. */
function tooMany(script: TrialScript, republished: number, { totals, seconds }: RequestWatch): string[] {
  const { refused } = script;
  const messages = script.messages + republished;
  const perMessage = 2 * messages + 50 * seconds;
  const limits = new Map([["AppendRows", perMessage + 16 * refused] as const]);
  return [...totals].flatMap(([method, count]) => {
    const limit = limits.get(method as "AppendRows") ?? perMessage;
    return count > limit ? [`${count} requests ${method} for ${messages} messages in ${seconds.toFixed(1)} s`] : [];
  });
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.max(ms, 0));
  });
}
