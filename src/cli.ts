#!/usr/bin/env node
/** The command `millrace`: declares the commands, loads what one needs when it is called, and maps failures to exit statuses. */
import { Argument, Command, CommanderError, InvalidArgumentError } from "commander";
import type { EmulatorFlags } from "./commands/emulator.ts";
import { MillraceError } from "./errors.ts";
import { firstSignal } from "./lib/signals.ts";
import { version } from "./lib/version.ts";

const exitStatuses = `
Exit status: 0 done, 1 the answer is "no" (a message was refused),
             2 could not start or bad usage.`;

const program = new Command("millrace")
  .description("Takes Pub/Sub messages into BigQuery tables; what cannot be written goes to a dead-letter topic.")
  .version(version())
  .addHelpText("after", exitStatuses)
  .showHelpAfterError("(--help shows what can be given)")
  .exitOverride();

program
  .command("run")
  .description("run the pipelines of a configuration until SIGTERM or SIGINT, then drain")
  .requiredOption("--config <file>", "configuration file (YAML)")
  .addHelpText(
    "after",
    "\nLogs go to standard error, one JSON object a line.\nA second signal ends the process at once, with 130 (SIGINT) or 143 (SIGTERM).",
  )
  .action(async (options: { config: string }) => {
    // Loading the rest takes a while; a signal that comes meanwhile is no reason to fail.
    const signal = firstSignal();
    const { run } = await import("./commands/run.ts");
    await run(options.config, signal);
  });

program
  .command("validate")
  .description("read a configuration and report every fault in it; touches nothing else")
  .requiredOption("--config <file>", "configuration file (YAML)")
  .addHelpText("after", "\nExit status: 0 without a fault, 2 with one.")
  .action(async ({ config }: { config: string }) => {
    const { validate } = await import("./commands/validate.ts");
    validate(config);
  });

program
  .command("map")
  .description("show the row that each message would become, or why it would be refused; writes nothing")
  .addArgument(
    new Argument("[file...]", "messages, one JSON PubsubMessage a line; - is standard input").default(
      ["-"],
      "standard input",
    ),
  )
  .option("--raw", "each line is itself the payload; its number is the messageId")
  .option(
    "--config <file>",
    "take subscription, table and options from a pipeline of this configuration, the table fetched live",
  )
  .option("--pipeline <name>", "the pipeline, when the configuration has several")
  .option("--table <table>", "schema file (from `bq show --schema`, or a table resource) or PROJECT.DATASET.TABLE")
  .option(
    "--use-table-schema",
    "fields of the JSON payload go to the columns of the same name (else: all to the column `data`)",
  )
  .option("--drop-unknown-fields", "drop fields without a column")
  .option("--write-metadata", "also fill the metadata columns")
  .option("--subscription <name>", "projects/P/subscriptions/S, for --write-metadata")
  .option(
    "--set <path=value>",
    "any other option of the pipeline, such as bigquery.numericBytes=base64; may be repeated",
    append,
  )
  .option("--wire", "add the serialized row, in hex")
  .option("--descriptor", "print the descriptor of the rows as JSON and stop")
  .option("--print-transcoder", "print the compiled plan and stop")
  .addHelpText(
    "after",
    "\nExit status: 0 every message becomes a row, 1 one is refused,\n             2 the mapping itself cannot be.",
  )
  .action(async (files: string[], options: object) => {
    const { map } = await import("./commands/map.ts");
    process.exitCode = await map(files, options);
  });

program
  .command("demo")
  .description(
    "the whole way on this machine: embedded Pub/Sub and BigQuery, 2,000 messages, 20 of them bad; needs no account",
  )
  .option("--json", "print one JSON object with the figures")
  .action(async (options: { json?: true }) => {
    const { demo } = await import("./commands/demo.ts");
    await demo({ json: options.json ?? false });
  });

program
  .command("emulator")
  .description(
    "the two embedded servers alone, for trying things out and for other programs' tests, until SIGTERM or SIGINT",
  )
  .option("--pubsub-port <port>", "Pub/Sub, gRPC", port, 8085)
  .option("--bigquery-port <port>", "BigQuery, REST", port, 9050)
  .option("--storage-port <port>", "BigQuery Storage Write API, gRPC", port, 9060)
  .option("--data <file>", "keep datasets, tables and rows in this file (else: in memory)")
  .option("--faults <file>", "script of faults (JSON or YAML)")
  .option("--setup <file>", "topics, subscriptions, tables and messages to begin with (YAML)")
  .addHelpText(
    "after",
    "\nPrints the environment variables to set on standard output. Port 0 takes a free\none. The forms of the files: docs/emulator.md.",
  )
  .action(async (options: EmulatorFlags) => {
    const { emulator } = await import("./commands/emulator.ts");
    await emulator(options);
  });

function append(value: string, values: readonly string[] = []): readonly string[] {
  return [...values, value];
}

function port(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > 65_535) throw new InvalidArgumentError("expected a port from 0 to 65535.");
  return number;
}

/** The reader of our output has gone, as with `millrace map … | head`: nothing is left to do. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) tellOfLaterVersion(error);
  else process.stderr.write(`millrace: ${describe(error)}\n`);
  // What a failed command left open must not keep the process.
  process.exit(error instanceof CommanderError && error.exitCode === 0 ? 0 : 2);
}

/** Commands and options that a later version brings are unknown as yet, but no mistake of the caller's. */
function tellOfLaterVersion({ message }: CommanderError): void {
  const later = ["check", "schema", "--topic-schema", "--use-topic-schema", "--encoding", "--cdc"];
  const name = /unknown (?:command|option) '([^'=]+)/.exec(message)?.[1] ?? "";
  if (later.includes(name)) process.stderr.write(`(${name} is not there yet: a later version of Millrace brings it)\n`);
}

function describe(error: unknown): string {
  if (error instanceof MillraceError) return error.message;
  return `unexpected failure: ${error instanceof Error ? error.stack : String(error)}`;
}
