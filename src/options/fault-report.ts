/** Every fault of a file in one report, each with its path and its place, never with the value that stands there. */
import type { z } from "zod";
import { SetupError } from "../errors.ts";
import { listOptions } from "./option-list.ts";
import { nearest } from "./spelling.ts";
import type { Path, Place } from "./yaml-file.ts";

export interface FileFault {
  readonly path: Path;
  /** What is wrong and what is expected: reads on from the path. */
  readonly message: string;
  readonly place: Place | undefined;
}

/** The faults of one file, as an error whose message is the report: a line for each, by their places. */
export class FaultReport extends SetupError {
  override readonly name: string = "FaultReport";
  readonly faults: readonly FileFault[];

  /** @param source what has the faults, such as a file name */
  constructor(source: string, faults: readonly FileFault[]) {
    const sorted = faults.toSorted(byPlace);
    super(report(source, sorted));
    this.faults = sorted;
  }
}

/** `pipelines[0].batch.maxDelay` */
export function pathText(path: Path): string {
  return path
    .map((step, i) => (typeof step === "number" ? `[${step}]` : step === "[]" || i === 0 ? step : `.${step}`))
    .join("");
}

/** What a zod schema has found, in the words of its options and of the keys of its maps; unknown keys one by one, with what may have been meant. */
export function schemaFaults(
  error: z.ZodError,
  schema: z.ZodType,
): { readonly path: Path; readonly message: string }[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path as Path;
    if (issue.code === "invalid_key") return issue.issues.map(({ message }) => ({ path, message }));
    if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
    return issue.keys.map((key) => ({ path: [...path, key], message: `is unknown${hint(path, key, schema)}` }));
  });
}

function hint(parent: Path, key: string, schema: z.ZodType): string {
  const options = listOptions(schema).map(({ path }) => path);
  const siblings = options
    .filter((path) => path.length > parent.length && parent.every((step, i) => covers(path[i], step)))
    .map((path) => path[parent.length]!);
  const meant = nearest(key, siblings);
  if (meant !== undefined) return `; did you mean ${meant}?`;
  const elsewhere = options.find((path) => path.at(-1) === key);
  return elsewhere ? ` here; it belongs under ${pathText(elsewhere.slice(0, -1))}` : "";
}

/** A step of an option's path stands for a step of a path in a file. */
function covers(ofOption: string | undefined, step: string | number): boolean {
  return ofOption === "PATH" || ofOption === (typeof step === "number" ? "[]" : step);
}

function byPlace(a: FileFault, b: FileFault): number {
  if (!a.place || !b.place) return Number(!a.place) - Number(!b.place);
  return a.place.line - b.place.line || a.place.column - b.place.column;
}

function report(source: string, faults: readonly FileFault[]): string {
  const rows = faults.map(({ path, message, place }) => {
    return [place ? `${place.line}:${place.column}` : "", pathText(path), message];
  });
  const width = (column: number): number => Math.max(...rows.map((row) => row[column]!.length));
  const [places, paths] = [width(0), width(1)];
  const lines = rows.map(([place = "", path = "", message = ""]) =>
    ["", place.padEnd(places), path.padEnd(paths), message].join("  ").trimEnd(),
  );
  return [`${source}: ${faults.length === 1 ? "1 fault" : `${faults.length} faults`}`, ...lines].join("\n");
}
