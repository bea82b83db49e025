import { loadConfig } from "../config-file.ts";
import { Service } from "../service.ts";
import { openLog } from "../telemetry/log.ts";

/**
 * Runs the pipelines of a configuration file until a signal, drains them and ends the process: with 0, or with 1 after a defect.
 *
 * @param signal resolves with the name of the signal
 * @throws FaultReport with every fault of the file; SetupError when the HTTP port cannot be had
 */
export async function run(file: string, signal: Promise<string>): Promise<never> {
  const crash = firstCrash();
  const config = loadConfig(file, process.env);
  const log = openLog(config.service.log.level);
  for (const warning of config.warnings) log.warn({ warning }, "configuration warning");
  const service = await Service.start(config, { log, serveHttp: true });
  const end = await Promise.race([signal, crash, service.failed]);
  if (typeof end === "string") log.info({ signal: end }, "signal received");
  else log.fatal({ err: end }, "the process ends because of a defect");
  await service.drain();
  // What hangs beyond the drain's time must not keep the process.
  process.exit(typeof end === "string" ? 0 : 1);
}

/** Resolves with the first error that nobody caught; those that follow while the process drains are let be. */
function firstCrash(): Promise<Error> {
  return new Promise((resolve) => {
    const receive = (error: unknown): void => resolve(error instanceof Error ? error : new Error(String(error)));
    process.on("uncaughtException", receive);
    process.on("unhandledRejection", receive);
  });
}
