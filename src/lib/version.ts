import { readFileSync } from "node:fs";

/** The version of this package, such as `0.1.0`. */
export function version(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}
