/** What Linux tells of the memory of a process. */
import { readFileSync } from "node:fs";

/** Resident bytes now and at most so far; undefined when the process is gone. */
export function memoryOf(pid: number): { readonly now: number; readonly peak: number } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const bytes = (field: string): number => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)![1]) * 1024;
    return { now: bytes("VmRSS"), peak: bytes("VmHWM") };
  } catch {
    return undefined;
  }
}
