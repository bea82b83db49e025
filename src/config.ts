/**
 * The one description of every option: type, default, bounds and a line of help. The configuration is checked against it, and
 * docs/configuration.md, schemas/millrace.schema.json and deploy/config.reference.yaml are generated from it.
 *
 * In a checked configuration durations are milliseconds and sizes are bytes, whatever unit the file gave them in.
 */
import { z } from "zod";
import {
  choice,
  duration,
  expected,
  flag,
  isMap,
  map,
  notYet,
  optionalMap,
  percentage,
  size,
  text,
  whole,
} from "./options/option.ts";
import { endpointTexts, resource, tableName } from "./outside-options.ts";

const bigquery = map({
  table: tableName("Table that the rows go to."),
  useTopicSchema: notYet(false),
  useTableSchema: flag(
    "Payloads are JSON objects whose fields are the table's columns. Off: the whole payload goes to the column `data`.",
  ),
  dropUnknownFields: flag("Fields without a column are dropped. Off: such a message is refused (UNKNOWN_FIELD)."),
  writeMetadata: flag("Also fills the columns subscription_name, message_id, publish_time and attributes."),
  serviceAccountEmail: notYet(),
  numericBytes: choice(
    ["refuse", "base64", "latin1"],
    "What becomes of text for a NUMERIC or BIGNUMERIC column that is no number.",
  ),
  onPrecisionLoss: choice(["reject", "round"], "What becomes of text with more fraction digits than its column keeps."),
  missingValues: choice(
    ["null", "default"],
    "What a column gets that a message lacks: NULL, or the default that the table gives it.",
  ),
  columns: z
    .record(
      z.string(),
      map({
        timestampUnit: z
          .enum(["micros", "seconds", "millis", "nanos"], expected("one of micros, seconds, millis, nanos"))
          .exactOptional()
          .meta({
            description: "What a bare number means in a TIMESTAMP column; micros unless set.",
            form: "micros | seconds | millis | nanos",
          }),
        format: z.string(expected("a pattern as text")).exactOptional().meta({
          description:
            "How text of a date or time is written, such as %d.%m.%Y, instead of BigQuery's literal grammar.",
          form: "a pattern",
        }),
        jsonNull: choice(["null", "keep"], "What an explicit null becomes in a JSON column: SQL NULL, or JSON null."),
      }),
      expected("a map of column paths", "a map"),
    )
    .prefault({}),
  state: z.unknown().optional().meta({ hidden: true }),
}).refine((value) => !(isTrue(value.useTopicSchema) && isTrue(value.useTableSchema)), {
  path: ["useTopicSchema"],
  error: "excludes useTableSchema: set one of the two (BQ-TS-07)",
  when: isMap,
});

const leases = map({
  minDurationPerAckExtension: duration(
    "10s",
    { min: "10s", max: "10m" },
    "Shortest extension of an acknowledgement deadline.",
  ),
  maxDurationPerAckExtension: duration(
    "10m",
    { min: "10s", max: "10m" },
    "Longest extension: bounds how late a message is delivered again after a crash.",
  ),
  maxAckExtensionPeriod: duration(
    "unlimited",
    { min: "10s", max: "31d", or: "unlimited" },
    "How long a message is held in all; then it is let go, and may be delivered again.",
  ),
  releaseAfter: duration(
    "never",
    { min: "10s", max: "31d", or: "never" },
    "Gives messages back that could not be settled for that long, so that another replica may try.",
  ),
}).refine(notAbove("minDurationPerAckExtension", "maxDurationPerAckExtension"), {
  path: ["minDurationPerAckExtension"],
  error: "must not be longer than maxDurationPerAckExtension",
  when: isMap,
});

const append = map({
  maxInFlight: whole(8, { min: 1, max: 1000 }, "Unanswered append requests per connection."),
  minConnections: whole(1, { min: 1, max: 100 }, "Connections that are always open to the table."),
  maxConnections: whole(4, { min: 1, max: 100 }, "Connections that a growing queue may open."),
  maxRequestBytes: size(
    "9MiB",
    { min: "1KiB", max: "20MB" },
    "Largest append request, which is also the largest row. BigQuery takes up to 20 MB.",
  ),
}).refine(notAbove("minConnections", "maxConnections"), {
  path: ["minConnections"],
  error: "must not be more than maxConnections",
  when: isMap,
});

const breaker = optionalMap(
  {
    share: percentage("50%", "The share of refused messages at which the pipeline pauses."),
    window: whole(1000, { min: 10, max: 1_000_000 }, "Over how many of the last messages the share is taken."),
  },
  "Pauses the pipeline in state TRIPPED when too many messages are refused, instead of draining the topic into dead letters.",
);

const dedupe = optionalMap(
  {
    window: duration("10m", { min: "1s", max: "7d" }, "How long the ID of a settled message is remembered."),
    maxIds: whole(
      1_000_000,
      { min: 1000, max: 50_000_000 },
      "How many IDs are remembered at most; the oldest go first.",
    ),
  },
  "Messages that Pub/Sub delivers again although they are settled are acked without a second row.",
);

export const pipelineSchema = map({
  name: text(
    /^[a-z][a-z0-9-]{0,62}$/,
    "a-z, 0-9 and -, beginning with a letter, at most 63 characters",
    "Name in logs, metrics and dead letters; unique in the file.",
  ),
  subscription: resource("subscriptions", "Subscription that the messages come from."),
  bigquery,
  deadLetter: map({
    topic: resource(
      "topics",
      "Topic for messages that cannot be written. Without one they are given back.",
    ).exactOptional(),
    maxDeliveryAttempts: whole(
      5,
      { min: 5, max: 100 },
      "A dead letter that comes back with so many deliveries (CloudPubSubDeadLetterSourceDeliveryCount) is given back, not dead-lettered again, so that dead letters never run in circles.",
    ),
  }).prefault({}),
  breaker,
  delivery: choice(
    ["atLeastOnce", "exactlyOnce"],
    "exactlyOnce: rows go to committed write streams with offsets, so that a repeated append is never written twice.",
  ),
  dedupe,
  cdc: notYet(),
  pull: map({
    streams: whole(1, { min: 1, max: 100 }, "Streaming pull connections. One carries about 10 MB/s."),
    maxOutstandingMessages: whole(
      20_000,
      { min: 1, max: 1_000_000 },
      "Messages that may be held at once; then pulling waits.",
    ),
    maxOutstandingBytes: size(
      "100MiB",
      { min: "1MiB", max: "16GiB" },
      "Memory for what is held at once: five eighths for messages (then pulling waits), a quarter for rows and an eighth for dead letters under way.",
    ),
  }).prefault({}),
  leases: leases.prefault({}),
  batch: map({
    maxBytes: size(
      "1MiB",
      { min: "1KiB", max: "20MB" },
      "Rows are sent as soon as they have so many bytes; at most append.maxRequestBytes.",
    ),
    maxRows: whole(50_000, { min: 1, max: 1_000_000 }, "Rows are sent as soon as there are so many."),
    maxDelay: duration("20ms", { min: "0ms", max: "1m" }, "Rows are sent when the oldest has waited that long."),
  }).prefault({}),
  append: append.prefault({}),
  schemaRefreshInterval: duration("60s", { min: "1s", max: "1d" }, "How often the table's schema is read again."),
}).refine(({ batch, append }) => !batch || !append || !(batch.maxBytes > append.maxRequestBytes), {
  path: ["batch", "maxBytes"],
  error: "must not be more than append.maxRequestBytes",
  when: isMap,
});

const service = map({
  workers: notYet(1),
  http: map({
    host: text(/^\S+$/, "a host name or address", "Address that the HTTP server listens on.").prefault("127.0.0.1"),
    port: whole(8080, { min: 0, max: 65_535 }, "Port of /livez, /readyz, /metrics and /status; 0 takes a free one."),
    token: notYet(),
  }).prefault({}),
  drainTimeout: duration(
    "30s",
    { min: "1s", max: "1h" },
    "Time to finish what is held after SIGTERM or SIGINT; what is left is given back.",
  ),
  log: map({
    level: choice(
      ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
      "Least severe log lines that are written.",
      "info",
    ),
  }).prefault({}),
});

export const configSchema = map({
  pipelines: z
    .array(pipelineSchema, expected("a list of pipelines", "a list"))
    .min(1, expected("at least one pipeline", "a list"))
    .superRefine(refuseSameNames, { when: ({ value }) => Array.isArray(value) }),
  service: service.prefault({}),
  endpoints: endpointTexts.prefault({}),
});

/** One pipeline; durations in milliseconds, sizes in bytes. */
export type PipelineConfig = z.output<typeof pipelineSchema>;
export type ServiceConfig = z.output<typeof service>;

/** For `refine`: one number of a map is not above another. Holds when one of the two has a fault of its own. */
function notAbove<K extends string>(low: K, high: K): (value: Readonly<Record<K, number>>) => boolean {
  return (value) => !(value[low] > value[high]);
}

function isTrue(value: unknown): boolean {
  return value === true;
}

function refuseSameNames(pipelines: readonly (PipelineConfig | null)[], context: z.RefinementCtx): void {
  const first = new Map<string, number>();
  for (const [i, pipeline] of pipelines.entries()) {
    const name = pipeline?.name;
    if (name === undefined) continue;
    const other = first.get(name);
    if (other === undefined) first.set(name, i);
    else
      context.addIssue({
        code: "custom",
        path: [i, "name"],
        message: `is the name of pipelines[${other}] too: names are unique`,
      });
  }
}
