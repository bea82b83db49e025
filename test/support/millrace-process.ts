/** The real command `millrace run` as a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { eventually } from "./eventually.ts";
import type { ProbeLine } from "./process-probe.ts";

const cli = new URL("../../src/cli.ts", import.meta.url).pathname;

/** Options of a process that can be asked for its heap and its lag. */
export const probed: readonly string[] = [
  "--expose-gc",
  "--import",
  new URL("./process-probe.ts", import.meta.url).href,
];

export interface LogLine {
  readonly msg: string;
  readonly [field: string]: unknown;
}

export class MillraceProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<number>;
  #stderr = "";

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.#exit = new Promise((resolve) => {
      child.on("exit", (code, signal) => resolve(code ?? (signal === "SIGKILL" ? 137 : 1)));
    });
  }

  /**
   * Writes the configuration to a file and starts `millrace run` with it, its HTTP server on a free port.
   *
   * @param nodeOptions of the process, such as `--import`
   * @param variables added to its environment
   */
  static start(
    config: object,
    nodeOptions: readonly string[] = [],
    variables: Readonly<Record<string, string>> = {},
  ): MillraceProcess {
    const file = join(mkdtempSync(join(tmpdir(), "millrace-")), "config.yaml");
    writeFileSync(file, stringify(config));
    const { PUBSUB_EMULATOR_HOST: _, ...environment } = process.env;
    const child = spawn(process.execPath, [...nodeOptions, cli, "run", "--config", file], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...environment, METADATA_SERVER_DETECTION: "none", ...variables },
    });
    return new MillraceProcess(child);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** The structured log so far. */
  get log(): LogLine[] {
    return this.#stderr
      .split("\n")
      .slice(0, -1)
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as LogLine);
  }

  /**
   * Has the process collect garbage and tell of itself; it has to be started with `probed`.
   *
   * @throws Error when it does not answer
   */
  async probe(): Promise<ProbeLine> {
    const lines = (): LogLine[] => this.log.filter((line) => "probe" in line);
    const before = lines().length;
    this.signal("SIGUSR2");
    return eventually("the process tells of itself", () => lines()[before] as unknown as ProbeLine | undefined);
  }

  /** Everything the process wrote to standard error. */
  get stderr(): string {
    return this.#stderr;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Base URL of the HTTP server; known once it listens. */
  async url(): Promise<string> {
    const port = await eventually(`the HTTP server of millrace listens; its log: ${this.#stderr}`, () => {
      if (!this.running) throw new Error(`millrace ended: ${this.#stderr}`);
      return this.log.find((line) => typeof line["port"] === "number")?.["port"] as number | undefined;
    });
    return `http://127.0.0.1:${port}`;
  }

  /** Resolves when `/readyz` says that every pipeline is active. */
  async ready(): Promise<this> {
    const url = await this.url();
    await eventually("millrace is ready", async () => ((await fetch(`${url}/readyz`)).ok ? true : undefined));
    return this;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** The exit status, once the process has ended. */
  exit(): Promise<number> {
    return this.#exit;
  }

  /** Asks the process to drain, waits for its end and returns its exit status. */
  async stop(): Promise<number> {
    this.signal("SIGTERM");
    return await this.#exit;
  }
}
