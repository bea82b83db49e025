/** Files that a person names: what they hold, or why they cannot be had. */
import { readFileSync } from "node:fs";
import { SetupError } from "../errors.ts";

/** @throws SetupError when the file cannot be read */
export function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** @throws SetupError when the file cannot be read */
export function readText(file: string): string {
  return readBytes(file).toString("utf8");
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "permission denied",
  EISDIR: "it is a directory",
};

/** What is told when the system does not hand a file over. */
export function unreadable(file: string, error: unknown): SetupError {
  return new SetupError(`${file} cannot be read: ${reasonOf(error, reasons)}`);
}

/** What is told when the system does not let a file be written. */
export function unwritable(file: string, error: unknown): SetupError {
  return new SetupError(
    `${file} cannot be written: ${reasonOf(error, { ...reasons, ENOENT: "there is no such directory" })}`,
  );
}

function reasonOf(error: unknown, reasons: Readonly<Record<string, string>>): string {
  const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
  return reasons[code] ?? code;
}
