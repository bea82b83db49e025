import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  loadConfig,
  loadPipeline,
  mappingOptionsOf,
  parseConfig,
  pipelineFromSettings,
} from "../../src/config-file.ts";
import { FaultReport, pathText } from "../../src/options/fault-report.ts";
import type { JsonSchema } from "../../src/options/option-list.ts";

const root = new URL("../../", import.meta.url).pathname;

const minimal = `
pipelines:
  - name: orders
    subscription: projects/acme/subscriptions/orders-bigquery
    bigquery: { table: acme.sales.orders, useTableSchema: true }
`;

/** The full shape of the configuration, as it is promised to users, with its default values. */
const fullShape = `
pipelines:
  - name: orders
    subscription: projects/acme/subscriptions/orders-bigquery
    bigquery:
      table: acme.sales.orders
      useTopicSchema: false
      useTableSchema: false
      dropUnknownFields: false
      writeMetadata: false
      serviceAccountEmail:               # impersonated for BigQuery (later)
      numericBytes: refuse
      onPrecisionLoss: reject
      missingValues: null
      columns: {}
    deadLetter: { topic: null, maxDeliveryAttempts: 5 }
    breaker: null
    delivery: atLeastOnce
    dedupe: null
    cdc: null
    pull: { streams: 1, maxOutstandingMessages: 20000, maxOutstandingBytes: 100MiB }
    leases: { minDurationPerAckExtension: 10s, maxDurationPerAckExtension: 10m, maxAckExtensionPeriod: unlimited, releaseAfter: never }
    batch: { maxBytes: 1MiB, maxRows: 50000, maxDelay: 20ms }
    append: { maxInFlight: 8, minConnections: 1, maxConnections: 4, maxRequestBytes: 9MiB }
    schemaRefreshInterval: 60s
service: { workers: 1, http: { host: 127.0.0.1, port: 8080, token: null }, drainTimeout: 30s, log: { level: info } }
endpoints: { pubsub: null, bigquery: null, bigqueryStorage: null }
`;

function faultsOf(text: string, environment: Record<string, string> = {}): string[] {
  try {
    parseConfig(text, environment, "test.yaml");
  } catch (error) {
    if (!(error instanceof FaultReport)) throw error;
    return error.faults.map(({ path, message }) => `${pathText(path)} ${message}`);
  }
  return [];
}

/** The faults of a pipeline that has these further lines. */
function pipelineFaults(lines: string): string[] {
  return faultsOf(`${minimal}    ${lines}\n`).map((fault) => fault.replace("pipelines[0].", ""));
}

/** Nine lists deep, each nine times the one before: 9^8 values. */
function aliasBomb(): string {
  const lists = Array.from({ length: 8 }, (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(", ")}]`);
  return ["l0: &l0 [x]", ...lists].join("\n");
}

describe("a good configuration", () => {
  test("the smallest gets every default, in milliseconds and bytes", () => {
    const { pipelines, service, endpoints } = parseConfig(minimal, {}, "test.yaml");
    expect(pipelines).toEqual([
      {
        name: "orders",
        subscription: "projects/acme/subscriptions/orders-bigquery",
        bigquery: {
          table: { project: "acme", dataset: "sales", table: "orders" },
          useTopicSchema: false,
          useTableSchema: true,
          dropUnknownFields: false,
          writeMetadata: false,
          numericBytes: "refuse",
          onPrecisionLoss: "reject",
          missingValues: "null",
          columns: {},
        },
        deadLetter: { maxDeliveryAttempts: 5 },
        delivery: "atLeastOnce",
        pull: { streams: 1, maxOutstandingMessages: 20_000, maxOutstandingBytes: 104_857_600 },
        leases: {
          minDurationPerAckExtension: 10_000,
          maxDurationPerAckExtension: 600_000,
          maxAckExtensionPeriod: Infinity,
          releaseAfter: Infinity,
        },
        batch: { maxBytes: 1_048_576, maxRows: 50_000, maxDelay: 20 },
        append: { maxInFlight: 8, minConnections: 1, maxConnections: 4, maxRequestBytes: 9_437_184 },
        schemaRefreshInterval: 60_000,
      },
    ]);
    expect(service).toEqual({
      workers: 1,
      http: { host: "127.0.0.1", port: 8080 },
      drainTimeout: 30_000,
      log: { level: "info" },
    });
    expect(endpoints).toEqual({
      pubsub: { host: "pubsub.googleapis.com", port: 443, plaintext: false },
      bigquery: { host: "bigquery.googleapis.com", port: 443, plaintext: false },
      bigqueryStorage: { host: "bigquerystorage.googleapis.com", port: 443, plaintext: false },
    });
  });

  test("the full shape with its defaults is the smallest written out", () => {
    const written = parseConfig(fullShape, {}, "test.yaml");
    const short = parseConfig(minimal.replace("useTableSchema: true", "useTableSchema: false"), {}, "test.yaml");
    expect({ ...written, warnings: [] }).toEqual({ ...short, warnings: [] });
  });

  test("null, as YAML's or as text, is an option that is not set", () => {
    const nulls = `
    deadLetter: { topic: "null" }
    schemaRefreshInterval: ~
    batch: null
    pull: { streams: null }
`;
    const [pipeline] = parseConfig(minimal + nulls, {}, "test.yaml").pipelines;
    expect(pipeline!.deadLetter.topic).toBeUndefined();
    expect(pipeline!.schemaRefreshInterval).toBe(60_000);
    expect(pipeline!.batch.maxRows).toBe(50_000);
    expect(pipeline!.pull.streams).toBe(1);
  });

  test.each([["acme.sales.orders"], ["acme:sales.orders"], ["projects/acme/datasets/sales/tables/orders"]])(
    "a table may be written %s",
    (form) => {
      const { pipelines } = parseConfig(minimal.replace("acme.sales.orders", `"${form}"`), {}, "test.yaml");
      expect(pipelines[0]!.bigquery.table).toEqual({ project: "acme", dataset: "sales", table: "orders" });
    },
  );

  test("options of columns become mapping options", () => {
    const columns = minimal.replace(
      "useTableSchema: true",
      "useTableSchema: true, columns: { a.b: { timestampUnit: millis }, c: { jsonNull: keep, format: '%d' } }",
    );
    expect(mappingOptionsOf(parseConfig(columns, {}, "test.yaml").pipelines[0]!)).toEqual({
      mode: "table",
      subscription: "projects/acme/subscriptions/orders-bigquery",
      dropUnknownFields: false,
      writeMetadata: false,
      numericBytes: "refuse",
      onPrecisionLoss: "reject",
      missingValues: "null",
      columns: { "a.b": { timestampUnit: "millis", jsonNull: "null" }, c: { jsonNull: "keep", format: "%d" } },
    });
  });

  test("what is off unless it is named has defaults of its own", () => {
    const lines = "    delivery: exactlyOnce\n    breaker: {}\n    dedupe: { window: 1h }\n";
    const [pipeline] = parseConfig(minimal + lines, {}, "t.yaml").pipelines;
    expect(pipeline).toMatchObject({
      delivery: "exactlyOnce",
      breaker: { share: 0.5, window: 1000 },
      dedupe: { window: 3_600_000, maxIds: 1_000_000 },
    });
    const [plain] = parseConfig(minimal, {}, "t.yaml").pipelines;
    expect(plain).toMatchObject({ delivery: "atLeastOnce", deadLetter: { maxDeliveryAttempts: 5 } });
    expect([plain?.breaker, plain?.dedupe]).toEqual([undefined, undefined]);
  });

  test.each([
    ["leases: { releaseAfter: 10m }", ["leases.releaseAfter"]],
    ["leases: { maxAckExtensionPeriod: 1h }", ["leases.maxAckExtensionPeriod"]],
    [
      "leases: { maxAckExtensionPeriod: 1h, releaseAfter: 10m }",
      ["leases.maxAckExtensionPeriod", "leases.releaseAfter"],
    ],
    ["leases: { releaseAfter: 10m }\n    dedupe: {}", []],
    ["leases: { minDurationPerAckExtension: 1m }", []],
  ])("messages that are let go while their rows are still tried want dedupe: %s", (lines, named) => {
    const { warnings } = parseConfig(`${minimal}    ${lines}\n`, {}, "t.yaml");
    expect(warnings.filter((warning) => warning.includes("dedupe"))).toEqual(
      named.map(
        (option) =>
          `pipeline orders: ${option} lets messages go whose rows are still tried: without dedupe this process writes those that come back to it again`,
      ),
    );
  });

  test("the state of a pasted managed subscription is ignored with a warning", () => {
    const { warnings } = parseConfig(minimal.replace("useTableSchema", "state: ACTIVE, useTableSchema"), {}, "t.yaml");
    expect(warnings.filter((warning) => warning.includes("state"))).toEqual([
      "pipeline orders: bigquery.state is ignored: a managed subscription reports it, nobody sets it",
    ]);
  });
});

describe("faults", () => {
  test.each([
    ["schemaRefreshInterval: 0s", "schemaRefreshInterval expected a duration from 1s to 1d such as 60s"],
    ["schemaRefreshInterval: 60", "schemaRefreshInterval expected a duration from 1s to 1d such as 60s; got a number"],
    ["pull: { streams: 1.5 }", "pull.streams expected a whole number from 1 to 100"],
    ["pull: { streams: many }", "pull.streams expected a whole number from 1 to 100; got text"],
    ["pull: [1]", "pull expected a map; got a list"],
    ["append: { maxRequestBytes: 21MB }", "append.maxRequestBytes expected a size from 1KiB to 20MB such as 9MiB"],
    [
      "leases: { maxDurationPerAckExtension: 601s }",
      "leases.maxDurationPerAckExtension expected a duration from 10s to 10m such as 10m",
    ],
    ["leases: { releaseAfter: soon }", "leases.releaseAfter expected a duration from 10s to 31d such as 31d, or never"],
    ["batch: { maxBytes: 10MiB }", "batch.maxBytes must not be more than append.maxRequestBytes"],
    ["append: { minConnections: 5 }", "append.minConnections must not be more than maxConnections"],
    [
      "leases: { minDurationPerAckExtension: 2m, maxDurationPerAckExtension: 1m }",
      "leases.minDurationPerAckExtension must not be longer than maxDurationPerAckExtension",
    ],
    ["deadLetter: { topic: orders-dead }", "deadLetter.topic expected projects/P/topics/T"],
    ["delivery: atMostOnce", "delivery expected one of atLeastOnce, exactlyOnce"],
    ["dedupe: { window: 0s }", "dedupe.window expected a duration from 1s to 7d such as 10m"],
    ["dedupe: { maxIds: 10 }", "dedupe.maxIds expected a whole number from 1000 to 50000000"],
    ["dedupe: true", "dedupe expected a map of its options, or null to leave it off; got a boolean"],
    ["dedupe: { maxIDs: 5000 }", "dedupe.maxIDs is unknown; did you mean maxIds?"],
    ["breaker: { ratio: 50% }", "breaker.ratio is unknown"],
    ["breaker: { share: 0% }", "breaker.share expected a percentage from 1% to 100%"],
    ["breaker: { share: 0.5 }", "breaker.share expected a percentage from 1% to 100%; got a number"],
    ["breaker: { window: 5 }", "breaker.window expected a whole number from 10 to 1000000"],
    ["cdc: {}", "cdc is not there yet: a later version of Millrace brings it"],
    ["deadLetter: { maxDeliveryAttempts: 4 }", "deadLetter.maxDeliveryAttempts expected a whole number from 5 to 100"],
    ["batsh: {}", "batsh is unknown; did you mean batch?"],
    ["useTableSchema: true", "useTableSchema is unknown here; it belongs under pipelines[].bigquery"],
    ["zebra: 1", "zebra is unknown"],
  ])("%s", (lines, fault) => {
    expect(pipelineFaults(lines)).toEqual([fault]);
  });

  test.each([
    ["name: orders", "name: Orders", "name expected a-z, 0-9 and -, beginning with a letter, at most 63 characters"],
    [
      "name: orders",
      "name: 7",
      "name expected a-z, 0-9 and -, beginning with a letter, at most 63 characters; got a number",
    ],
    ["subscriptions/orders", "topics/orders", "subscription expected projects/P/subscriptions/S"],
    [
      "subscriptions/orders-bigquery",
      "subscriptions/or",
      "subscription expected a name of 3 to 255 characters in the place of S: letters, digits and -_.~+%, beginning with a letter and not with goog",
    ],
    [
      "acme.sales.orders",
      "sales.orders",
      "bigquery.table expected a table: P.D.T, P:D.T or projects/P/datasets/D/tables/T",
    ],
    [
      "table: acme.sales.orders, ",
      "",
      "bigquery.table is missing: expected a table: P.D.T, P:D.T or projects/P/datasets/D/tables/T",
    ],
    ["useTableSchema: true", "useTableSchema: yes", "bigquery.useTableSchema expected true or false; got text"],
    ["useTableSchema: true", "numericBytes: hex", "bigquery.numericBytes expected one of refuse, base64, latin1"],
    [
      "useTableSchema: true",
      "useTopicSchema: true",
      "bigquery.useTopicSchema is not there yet: a later version of Millrace brings it",
    ],
    [
      "useTableSchema: true",
      "serviceAccountEmail: a@b.c",
      "bigquery.serviceAccountEmail is not there yet: a later version of Millrace brings it",
    ],
    [
      "useTableSchema: true",
      "columns: { a.b: { timestampUnt: millis } }",
      "bigquery.columns.a.b.timestampUnt is unknown; did you mean timestampUnit?",
    ],
  ])("%s as %s", (from, to, fault) => {
    expect(faultsOf(minimal.replace(from, to))).toEqual([`pipelines[0].${fault}`]);
  });

  test("a topic schema and a table schema exclude each other (BQ-TS-07)", () => {
    expect(faultsOf(minimal.replace("useTableSchema", "useTopicSchema: true, useTableSchema"))).toContain(
      "pipelines[0].bigquery.useTopicSchema excludes useTableSchema: set one of the two (BQ-TS-07)",
    );
  });

  test.each([
    ["", "pipelines is missing: expected a list of pipelines"],
    ["pipelines: []", "pipelines expected at least one pipeline"],
    ["[]", " expected a map; got a list"],
    ["pipelines:\n  - null", "pipelines[0] expected a map; got null"],
  ])("file %j", (text, fault) => {
    expect(faultsOf(text)).toContain(fault);
  });

  test("names are unique", () => {
    const second = minimal.slice(minimal.indexOf("  - "));
    expect(faultsOf(minimal + second)).toEqual(["pipelines[1].name is the name of pipelines[0] too: names are unique"]);
  });

  test.each([
    ["service: { workers: 2 }", "service.workers is not there yet: a later version of Millrace brings it"],
    ["service: { http: { token: t } }", "service.http.token is not there yet: a later version of Millrace brings it"],
    ["service: { http: { port: 65536 } }", "service.http.port expected a whole number from 0 to 65535"],
    [
      "service: { log: { level: loud } }",
      "service.log.level expected one of trace, debug, info, warn, error, fatal, silent",
    ],
    [
      "endpoints: { pubsub: http://pubsub:8085 }",
      "endpoints.pubsub plaintext is allowed to this machine only; use https, or set endpoints.insecure: true",
    ],
    ["endpoints: { bigquery: '::' }", "endpoints.bigquery expected host:port or a URL such as http://127.0.0.1:8085"],
  ])("%s", (lines, fault) => {
    expect(faultsOf(`${minimal}${lines}\n`)).toEqual([fault]);
  });

  test("text that is no YAML is one fault, with its place", () => {
    const faults = faultsOf("pipelines: [\n  - name: {");
    expect(faults.every((fault) => fault.startsWith(" is no valid YAML: "))).toBe(true);
    expect(faults.length).toBeGreaterThan(0);
  });

  test.each([
    ["pipelines: *none", "unresolved alias (the anchor must be set before the alias): none"],
    [aliasBomb(), "excessive alias count indicates a resource exhaustion attack"],
  ])("an alias that cannot be had is a fault: %j", (text, reason) => {
    expect(faultsOf(text)).toEqual([` is no valid YAML: ${reason}`]);
  });

  test("several documents, and keys that JavaScript knows, are faults", () => {
    expect(faultsOf("a: 1\n---\nb: 2\n")).toEqual([" holds several YAML documents: expected one"]);
    expect(faultsOf(`${minimal}__proto__: { x: 1 }\nconstructor: 1\n`)).toEqual([
      "__proto__ is unknown",
      "constructor is unknown",
    ]);
  });

  test("a key that comes twice is a fault", () => {
    expect(faultsOf(`${minimal}service: {}\nservice: {}\n`)).toEqual([" is no valid YAML: map keys must be unique"]);
  });

  test("all are reported together, in the order of the file, with path and place, and without the values", () => {
    const text = `pipelines:
  - name: Secret-Name
    subscription: nowhere
    bigquery:
      tabel: acme.sales.orders
    batch: { maxDelay: 20 }
service: { http: { port: -1 } }
`;
    let message = "";
    try {
      parseConfig(text, { PUBSUB_EMULATOR_HOST: "not a host" }, "orders.yaml");
    } catch (error) {
      ({ message } = error as Error);
    }
    expect(message.split("\n")).toEqual([
      "orders.yaml: 7 faults",
      "  2:5   pipelines[0].name            expected a-z, 0-9 and -, beginning with a letter, at most 63 characters",
      "  3:5   pipelines[0].subscription    expected projects/P/subscriptions/S",
      "  4:5   pipelines[0].bigquery.table  is missing: expected a table: P.D.T, P:D.T or projects/P/datasets/D/tables/T",
      "  5:7   pipelines[0].bigquery.tabel  is unknown; did you mean table?",
      "  6:14  pipelines[0].batch.maxDelay  expected a duration from 0ms to 1m such as 20ms; got a number",
      "  7:20  service.http.port            expected a whole number from 0 to 65535",
      "        PUBSUB_EMULATOR_HOST         (environment) expected host:port or a URL such as http://127.0.0.1:8085",
    ]);
  });
});

describe("environment", () => {
  test("references are filled in, in flow maps too, and typed as YAML would type them", () => {
    const text = `${minimal.replace("acme.sales.orders", "${PROJECT}.sales.${TABLE:-orders}")}    deadLetter: { topic: \${TOPIC} }
service: { http: { port: \${PORT:-9090} } } # \${NOT_A_REFERENCE}
`;
    const environment = { PROJECT: "acme", TOPIC: "projects/acme/topics/orders-dead", TABLE: "" };
    const { pipelines, service } = parseConfig(text, environment, "test.yaml");
    expect(pipelines[0]!.bigquery.table.table).toBe("orders");
    expect(pipelines[0]!.deadLetter.topic).toBe("projects/acme/topics/orders-dead");
    expect(service.http.port).toBe(9090);
  });

  test("a value cannot change the structure of the file", () => {
    const text = minimal.replace("name: orders", "name: ${NAME}");
    expect(faultsOf(text, { NAME: "a\n    batch: {}" })).toEqual([
      "pipelines[0].name expected a-z, 0-9 and -, beginning with a letter, at most 63 characters",
    ]);
  });

  test("a variable that is missing is a fault, once, and so is a bad reference", () => {
    expect(faultsOf(minimal.replace("name: orders", "name: ${NAME}"))).toEqual([
      "pipelines[0].name the environment has no variable NAME, and no default is given (${NAME:-default})",
    ]);
    expect(faultsOf(minimal.replace("name: orders", "name: ${1}"))).toEqual([
      "pipelines[0].name expected a reference of the form ${VAR} or ${VAR:-default}; $${ stands for a plain ${",
    ]);
  });

  test("$${ stands for ${", () => {
    const text = minimal.replace("useTableSchema: true", () => "columns: { a: { format: '$${x}' } }");
    expect(parseConfig(text, {}, "test.yaml").pipelines[0]!.bigquery.columns["a"]!.format).toBe("${x}");
  });

  test("emulator variables give plaintext endpoints on any host; the file's endpoints come first", () => {
    const environment = {
      PUBSUB_EMULATOR_HOST: "pubsub:8085",
      BIGQUERY_EMULATOR_HOST: "http://bigquery:9050",
      BIGQUERY_STORAGE_EMULATOR_HOST: "[::1]:9060",
    };
    expect(parseConfig(`${minimal}endpoints: { pubsub: 127.0.0.1:1 }\n`, environment, "test.yaml").endpoints).toEqual({
      pubsub: { host: "127.0.0.1", port: 1, plaintext: true },
      bigquery: { host: "bigquery", port: 9050, plaintext: true },
      bigqueryStorage: { host: "::1", port: 9060, plaintext: true },
    });
  });

  test("emulators beside Google's own services are a warning, one kind alone is not", () => {
    const warningsOf = (environment: Record<string, string>): readonly string[] =>
      parseConfig(minimal, environment, "t.yaml").warnings.filter((warning) => warning.startsWith("endpoints"));
    const pubsub = { PUBSUB_EMULATOR_HOST: "127.0.0.1:8085" };
    const bigquery = { BIGQUERY_EMULATOR_HOST: "http://127.0.0.1:9050" };
    expect(warningsOf({ ...pubsub, ...bigquery })).toEqual([
      "endpoints: plaintext to pubsub (127.0.0.1:8085) and bigquery (127.0.0.1:9050), but TLS to bigqueryStorage (bigquerystorage.googleapis.com:443): are all three meant so?",
    ]);
    expect(warningsOf({})).toEqual([]);
    expect(warningsOf({ ...pubsub, ...bigquery, BIGQUERY_STORAGE_EMULATOR_HOST: "127.0.0.1:9060" })).toEqual([]);
  });
});

describe("a single pipeline", () => {
  test("from flags and --set, without a file", () => {
    const pipeline = pipelineFromSettings({ bigquery: { useTableSchema: true } }, [
      "bigquery.columns.properties.time.timestampUnit=millis",
      "bigquery.numericBytes=base64",
      "bigquery.missingValues=null",
      "append.maxRequestBytes=20MB",
    ]);
    expect(pipeline.bigquery).toMatchObject({ useTableSchema: true, numericBytes: "base64", missingValues: "null" });
    expect(pipeline.bigquery.columns).toEqual({ "properties.time": { timestampUnit: "millis", jsonNull: "null" } });
    expect(pipeline.append.maxRequestBytes).toBe(20_000_000);
  });

  test("faults of --set are reported together", () => {
    expect(() => pipelineFromSettings({}, ["bigquery.nmericBytes=x", "batch.maxRows=0"])).toThrow(
      `The options of the pipeline: 2 faults
    bigquery.nmericBytes  is unknown; did you mean numericBytes?
    batch.maxRows         expected a whole number from 1 to 1000000`,
    );
    expect(() => pipelineFromSettings({}, ["bigquery"])).toThrow("--set expects PATH=VALUE");
  });

  test("from a file, by name, with options replaced", () => {
    const file = join(mkdtempSync(join(tmpdir(), "millrace-")), "two.yaml");
    writeFileSync(file, minimal + minimal.slice(minimal.indexOf("  - ")).replace("orders", "refunds"));
    const { pipeline } = loadPipeline(file, {}, { pipeline: "refunds", sets: ["bigquery.onPrecisionLoss=round"] });
    expect(pipeline.name).toBe("refunds");
    expect(pipeline.bigquery.onPrecisionLoss).toBe("round");
    expect(() => loadPipeline(file, {}, {})).toThrow(
      "has several pipelines: choose one of orders, refunds with --pipeline",
    );
    expect(() => loadPipeline(file, {}, { pipeline: "x" })).toThrow("has no pipeline of that name");
  });
});

describe("the sample configurations", () => {
  const editorSchema = z.fromJSONSchema(
    JSON.parse(readFileSync(`${root}schemas/millrace.schema.json`, "utf8")) as JsonSchema,
  );

  test.each(["config.minimal.yaml", "config.reference.yaml"])(
    "%s is good, for the program and for editors",
    async (name) => {
      const { parse } = await import("yaml");
      expect(loadConfig(`${root}deploy/${name}`, {}).pipelines).toHaveLength(1);
      expect(editorSchema.safeParse(parse(readFileSync(`${root}deploy/${name}`, "utf8"))).error).toBeUndefined();
    },
  );

  test("the reference has the defaults", () => {
    const reference = loadConfig(`${root}deploy/config.reference.yaml`, {});
    const short = parseConfig(minimal.replace("useTableSchema: true", "useTableSchema: false"), {}, "test.yaml");
    const [{ bigquery, ...pipeline }] = reference.pipelines as [(typeof reference.pipelines)[number]];
    expect({ ...pipeline, bigquery: { ...bigquery, columns: {} } }).toEqual(short.pipelines[0]);
    expect(reference.service).toEqual(short.service);
    expect(bigquery.columns).toEqual({ created_at: { jsonNull: "null" } });
  });

  test("editors see an unknown key and a bad value", () => {
    expect(editorSchema.safeParse({ pipelines: [], colour: 1 }).success).toBe(false);
    const pipeline = { name: "a", subscription: "projects/p/subscriptions/abc", bigquery: { table: "a.b.c" } };
    expect(editorSchema.safeParse({ pipelines: [pipeline] }).success).toBe(true);
    expect(editorSchema.safeParse({ pipelines: [{ ...pipeline, schemaRefreshInterval: "60" }] }).success).toBe(false);
    expect(editorSchema.safeParse({ pipelines: [{ ...pipeline, schemaRefreshInterval: "${X}" }] }).success).toBe(true);
  });
});
