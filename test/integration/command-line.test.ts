/** The commands as processes: exit statuses, outputs, signals. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { type BigQueryEmulator, startBigQueryEmulator } from "../../src/emulator/bigquery/bigquery-emulator.ts";
import { type PubSubEmulator, startPubSubEmulator } from "../../src/emulator/pubsub/pubsub-emulator.ts";
import { BigQueryClient } from "../support/bigquery-client.ts";
import { eventually } from "../support/eventually.ts";
import { MillraceProcess } from "../support/millrace-process.ts";
import { PubSubClient } from "../support/pubsub-client.ts";

const root = new URL("../../", import.meta.url).pathname;
const cli = `${root}src/cli.ts`;
const commands = ["run", "validate", "map", "demo", "emulator"];

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function millrace(...args: string[]): Ended {
  return spawnSync(process.execPath, [cli, ...args], { encoding: "utf8" });
}

function fileOf(name: string, text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), "millrace-")), name);
  writeFileSync(file, text);
  return file;
}

describe("usage", () => {
  test("--help and --version answer on standard output with 0", () => {
    const help = millrace("--help");
    expect([help.status, help.stderr]).toEqual([0, ""]);
    for (const command of commands) expect(help.stdout).toMatch(new RegExp(`^  ${command} `, "m"));
    expect(help.stdout).not.toMatch(/check|schema|loadtest|apply/);
    expect(millrace("--version").stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test.each(commands)("%s --help answers with 0 and says what the command does", (command) => {
    const help = millrace(command, "--help");
    expect([help.status, help.stderr]).toEqual([0, ""]);
    expect(help.stdout).toContain(`Usage: millrace ${command} `);
    expect(help.stdout).not.toMatch(/--cdc|--topic-schema|--use-topic-schema|--encoding/);
  });

  test.each(["", ...commands])("the help of %j fits on 80 columns", (command) => {
    const { stdout } = millrace(...(command === "" ? [] : [command]), "--help");
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    expect(stdout).not.toContain("[]");
  });

  test.each([
    [["check"], "check"],
    [["schema", "to-table"], "schema"],
    [["demo", "--cdc"], "--cdc"],
    [["map", "--topic-schema=x.avsc"], "--topic-schema"],
  ])("%j says that a later version brings it", (args, name) => {
    const { status, stderr } = millrace(...args);
    expect(status).toBe(2);
    expect(stderr).toContain(`${name} is not there yet: a later version of Millrace brings it`);
  });

  test.each([
    [[], "Usage: millrace"],
    [["rum"], "(Did you mean run?)"],
    [["run"], "required option '--config <file>' not specified"],
    [["demo", "--cdc"], "unknown option '--cdc'"],
    [["emulator", "--pubsub-port", "70000"], "expected a port from 0 to 65535"],
    [["validate", "--config", "/nowhere.yaml"], "/nowhere.yaml cannot be read: there is no such file"],
  ])("bad usage %j ends with 2 and says why on standard error", (args, reason) => {
    const { status, stdout, stderr } = millrace(...args);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(reason);
  });

  test("--help loads no package but commander", () => {
    const tell = `import { registerHooks } from "node:module";
      registerHooks({ resolve(specifier, context, next) {
        const found = next(specifier, context);
        const [, name] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url) ?? [];
        if (name) process.stderr.write(name + "\\n");
        return found;
      } });`;
    const hook = `data:text/javascript,${encodeURIComponent(tell)}`;
    const { stderr } = spawnSync(process.execPath, ["--import", hook, cli, "--help"], { encoding: "utf8" });
    expect([...new Set(stderr.trim().split("\n"))]).toEqual(["commander"]);
  });
});

describe("validate", () => {
  test("a good file: 0", () => {
    const { status, stdout, stderr } = millrace("validate", "--config", `${root}deploy/config.minimal.yaml`);
    expect([status, stdout]).toEqual([0, ""]);
    expect(stderr).toContain("no faults; pipeline orders");
  });

  test("a bad file: 2 and every fault", () => {
    const file = fileOf("bad.yaml", "pipelines:\n  - name: A\nservice: { colour: red }\n");
    const { status, stdout, stderr } = millrace("validate", "--config", file);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr.split("\n").map((line) => line.trim().split(/ +/).slice(0, 2).join(" "))).toEqual([
      `millrace: ${file}:`,
      "2:5 pipelines[0].name",
      "2:5 pipelines[0].subscription",
      "2:5 pipelines[0].bigquery",
      "3:12 service.colour",
      "",
    ]);
  });
});

describe("map", () => {
  const table = `${root}schemas/orders/table.json`;
  const raw = ["map", "--raw", "--use-table-schema", "--table", table];

  test("one answer a line, and 1 when a message is refused", () => {
    const { status, stdout, stderr } = millrace(...raw, `${root}schemas/orders/messages.jsonl`);
    expect([status, stderr]).toEqual([1, ""]);
    const answers = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { messageId: string; row?: object });
    expect(answers.map(({ messageId, row }) => [messageId, row !== undefined])).toEqual([
      ["1", true],
      ["2", true],
      ["3", false],
      ["4", false],
      ["5", false],
    ]);
  });

  test("a table of columns without --use-table-schema ends with 2 and the way out first", () => {
    const { status, stdout, stderr } = millrace(
      "map",
      "--raw",
      "--table",
      table,
      `${root}schemas/orders/messages.jsonl`,
    );
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr.split("\n")).toEqual([
      "millrace: Messages cannot be mapped to the table:",
      "- without useTableSchema the payload goes to a column data of BYTES, STRING or JSON; the table has none. With useTableSchema its fields go to the columns of their names",
      "",
    ]);
  });

  test("a line that is something else ends with 2 and says what a message has", () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [cli, "map", "--table", table, "--use-table-schema"],
      {
        encoding: "utf8",
        input: '{"message":{"data":"e30="}}\n',
      },
    );
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(
      "millrace: standard input, line 1 is no PubsubMessage: it has fields besides data, attributes, messageId, publishTime and orderingKey (with --raw each line is itself a payload)\n",
    );
  });

  test("a pipe is read although it can be read once only", () => {
    const message = JSON.stringify({ data: Buffer.from('{"order_id":"A-1"}').toString("base64"), messageId: "7" });
    const command = `"$1" "$2" map --drop-unknown-fields --use-table-schema --table "$3" <(printf '%s\\n' "$4")`;
    const args = ["-c", command, "bash", process.execPath, cli, fileOf("t.json", keyOnly), message];
    const { status, stdout } = spawnSync("bash", args, { encoding: "utf8" });
    expect([status, stdout]).toEqual([0, '{"messageId":"7","row":{"order_id":"A-1"}}\n']);
  });

  test.each([
    ["/nowhere.jsonl", "/nowhere.jsonl cannot be read: there is no such file"],
    [tmpdir(), `${tmpdir()} cannot be read: it is a directory`],
  ])("%s as input ends with 2 and the reason", (file, reason) => {
    for (const args of [raw, raw.filter((arg) => arg !== "--raw")]) {
      expect(millrace(...args, file)).toMatchObject({ status: 2, stdout: "", stderr: `millrace: ${reason}\n` });
    }
  });
});

const keyOnly = '[{"name":"order_id","type":"STRING"}]';

test("demo --json gives one object with the figures, read back from table and topic", () => {
  const { status, stdout, stderr } = millrace("demo", "--json");
  expect([status, stderr]).toEqual([0, ""]);
  const { seconds, ...figures } = JSON.parse(stdout) as { seconds: number };
  expect(figures).toEqual({
    published: 2000,
    rows: 1980,
    deadLettered: 20,
    byCode: {
      DUPLICATE_FIELD: 2,
      MALFORMED_PAYLOAD: 4,
      MISSING_REQUIRED: 2,
      NULL_IN_ARRAY: 2,
      OUT_OF_RANGE: 2,
      PRECISION_LOSS: 2,
      TYPE_MISMATCH: 4,
      UNKNOWN_FIELD: 2,
    },
  });
  expect(seconds).toBeLessThan(20);
});

test("demo fits on 80 columns and shows rows, totals and every code", () => {
  const { status, stdout } = millrace("demo");
  expect(status).toBe(0);
  for (const line of stdout.split("\n")) expect(Array.from(line).length).toBeLessThanOrEqual(80);
  expect(stdout).toMatch(/^A-1001 +/m);
  expect(stdout).toMatch(/^2026-03-01 +396 +\d+\.\d\d$/m);
  expect(stdout).toMatch(/^OUT_OF_RANGE +2 {2}customer\.id$/m);
});

describe("emulator", () => {
  const processes: ChildProcess[] = [];
  afterEach(() => {
    for (const child of processes.splice(0)) child.kill("SIGKILL");
  });

  async function startEmulator(...args: string[]): Promise<{ child: ChildProcess; environment: Map<string, string> }> {
    const free = ["--pubsub-port", "0", "--bigquery-port", "0", "--storage-port", "0"];
    const child = spawn(process.execPath, [cli, "emulator", ...free, ...args], { stdio: ["ignore", "pipe", "ignore"] });
    processes.push(child);
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    const lines = await eventually("the variables are printed", () => {
      const complete = stdout.split("\n").slice(0, -1);
      return complete.length === 3 ? complete : undefined;
    });
    const pairs = lines.map((line) => /^export (\w+)=(.+)$/.exec(line)!.slice(1) as [string, string]);
    return { child, environment: new Map(pairs) };
  }

  test("runs until a signal, with what the setup file says", async () => {
    const setup = fileOf(
      "setup.yaml",
      `topics: [projects/p/topics/orders]
subscriptions: { projects/p/subscriptions/orders: projects/p/topics/orders }
tables: { p.sales.orders: ${root}schemas/orders/table.json }
payloads: { projects/p/topics/orders: ${root}schemas/orders/messages.jsonl }
`,
    );
    const { child, environment } = await startEmulator("--setup", setup);
    expect([...environment.keys()]).toEqual([
      "PUBSUB_EMULATOR_HOST",
      "BIGQUERY_EMULATOR_HOST",
      "BIGQUERY_STORAGE_EMULATOR_HOST",
    ]);
    const pubsub = new PubSubClient(environment.get("PUBSUB_EMULATOR_HOST")!);
    const messages = await pubsub.take("projects/p/subscriptions/orders");
    expect(messages.map(({ data }) => (JSON.parse(data.toString()) as { order_id: string }).order_id)).toEqual([
      "A-1001",
      "A-1002",
      "A-1003",
      "A-1004",
      "A-1005",
    ]);
    pubsub.close();
    expect(await new BigQueryClient(environment.get("BIGQUERY_EMULATOR_HOST")!).rows("p.sales.orders")).toEqual([]);
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("a port in use ends it with 2, and so do a data file that cannot be and a setup with faults", async () => {
    const { environment } = await startEmulator();
    const taken = environment.get("PUBSUB_EMULATOR_HOST")!.split(":")[1]!;
    const second = millrace("emulator", "--pubsub-port", taken, "--bigquery-port", "0", "--storage-port", "0");
    expect([second.status, second.stdout]).toEqual([2, ""]);
    expect(second.stderr).toContain(`Port ${taken} is in use`);

    const nowhere = millrace("emulator", "--pubsub-port", "0", "--data", "/nowhere/rows.data");
    expect([nowhere.status, nowhere.stdout]).toEqual([2, ""]);
    expect(nowhere.stderr).toBe("millrace: /nowhere/rows.data cannot be written: there is no such directory\n");

    const faulty = millrace("emulator", "--setup", fileOf("setup.yaml", "topics: [orders]\ntabels: {}\n"));
    expect(faulty.status).toBe(2);
    expect(faulty.stderr).toContain("expected projects/P/topics/T");
    expect(faulty.stderr).toContain("is unknown; did you mean tables?");
  });
});

describe("run", () => {
  let pubsub: PubSubEmulator;
  let bigquery: BigQueryEmulator;
  const processes: MillraceProcess[] = [];

  afterEach(async () => {
    for (const each of processes.splice(0)) each.signal("SIGKILL");
    await Promise.all([pubsub.close(), bigquery.close()]);
  });

  /** One pipeline with a message on its way, whose append is answered only after `delayMs`. */
  async function start(
    delayMs: number,
    service: object = {},
    nodeOptions: readonly string[] = [],
  ): Promise<MillraceProcess> {
    [pubsub, bigquery] = await Promise.all([startPubSubEmulator(), startBigQueryEmulator()]);
    if (delayMs > 0) bigquery.faults.replace([{ method: "AppendRows", call: "all", delayMs }]);
    pubsub.createTopic("projects/p/topics/orders");
    pubsub.createSubscription({ name: "projects/p/subscriptions/orders", topic: "projects/p/topics/orders" });
    pubsub.publish("projects/p/topics/orders", [{ data: '{"id":1}' }]);
    bigquery.createTable("p.sales.orders", [{ name: "id", type: "INT64" }]);
    const config = {
      pipelines: [
        {
          name: "orders",
          subscription: "projects/p/subscriptions/orders",
          bigquery: { table: "p.sales.orders", useTableSchema: true },
        },
      ],
      service: { http: { port: 0 }, ...service },
      endpoints: {
        pubsub: `${pubsub.host}:${pubsub.port}`,
        bigquery: `http://${bigquery.host}:${bigquery.restPort}`,
        bigqueryStorage: `${bigquery.host}:${bigquery.storagePort}`,
      },
    };
    const millrace = MillraceProcess.start(config, nodeOptions);
    processes.push(millrace);
    return millrace;
  }

  test.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("a second %s during the drain ends the process at once with %i", async (signal, status) => {
    const millrace = await (await start(60_000)).ready();
    await eventually("the append is under way", () => (bigquery.faults.calls("AppendRows") > 0 ? true : undefined));
    millrace.signal(signal);
    await eventually("the drain has begun", () => millrace.log.find(({ msg }) => msg === "draining"));
    expect(millrace.running).toBe(true);
    millrace.signal(signal);
    expect(await millrace.exit()).toBe(status);
  });

  test("a signal while the program is still loading ends it in good order, with 0", async () => {
    const signalWhileLoading = `import { registerHooks } from "node:module";
      registerHooks({ load(url, context, next) {
        if (url.endsWith("/service.ts")) process.kill(process.pid, "SIGTERM");
        return next(url, context);
      } });`;
    const millrace = await start(0, {}, ["--import", `data:text/javascript,${encodeURIComponent(signalWhileLoading)}`]);
    expect(await millrace.exit()).toBe(0);
    expect(millrace.log.at(-1)!.msg).toBe("pipeline drained");
    expect(pubsub.subscription("projects/p/subscriptions/orders").messages()).toHaveLength(1);
  });

  test("a drain ends with 0 within drainTimeout even if an append is never answered; the message comes again", async () => {
    const millrace = await (await start(60_000, { drainTimeout: "1s" })).ready();
    await eventually("the append is under way", () => (bigquery.faults.calls("AppendRows") > 0 ? true : undefined));
    const startMs = performance.now();
    expect(await millrace.stop()).toBe(0);
    expect(performance.now() - startMs).toBeLessThan(3000);
    expect(millrace.log.at(-1)).toMatchObject({ msg: "pipeline drained", rows: 0, deadLetters: 0, givenBack: 1 });
    expect(pubsub.subscription("projects/p/subscriptions/orders").messages()).toHaveLength(1);
  });

  test("an error that nobody caught is logged, and the process drains and ends with 1", async () => {
    const defect = 'process.on("SIGUSR2", () => void Promise.reject(new Error("a defect")))';
    const started = await start(0, {}, ["--import", `data:text/javascript,${encodeURIComponent(defect)}`]);
    const millrace = await started.ready();
    millrace.signal("SIGUSR2");
    expect(await millrace.exit()).toBe(1);
    const fatal = millrace.log.find(({ level }) => level === "fatal");
    expect(fatal).toMatchObject({ err: { type: "Error", message: "a defect" } });
    expect(millrace.log.at(-1)!.msg).toBe("pipeline drained");
  });

  test("metrics and status count what has happened", async () => {
    const millrace = await (await start(0)).ready();
    const url = await millrace.url();
    await eventually("the row is written and acked", async () => {
      const { pipelines } = (await (await fetch(`${url}/status`)).json()) as { pipelines: { acked: number }[] };
      return pipelines[0]!.acked === 1 ? true : undefined;
    });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain('millrace_received_messages_total{pipeline="orders"} 1\n');
    expect(metrics).toContain('millrace_appended_rows_total{pipeline="orders"} 1\n');
    expect(metrics).toContain('millrace_pipeline_active{pipeline="orders"} 1\n');
    expect(metrics).toContain('millrace_append_seconds_count{pipeline="orders"} 1\n');
    expect(metrics).toContain('millrace_publish_to_commit_seconds_count{pipeline="orders"} 1\n');
    expect(await millrace.stop()).toBe(0);
    expect(millrace.log.map(({ msg }) => msg)).toContain("pipeline drained");
  });
});
