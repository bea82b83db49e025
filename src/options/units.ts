/** Durations and sizes with their unit in the text, as the configuration writes them: `20ms`, `10m`, `9MiB`, `20MB`. */

const durationUnits = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const sizeUnits = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 } as const;

/** The form of a duration: digits, at most one fraction, one unit. */
export const durationPattern = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** The form of a size. `KB`, `MB`, `GB` are powers of 1000, `KiB`, `MiB`, `GiB` powers of 1024. */
export const sizePattern = /^(\d+(?:\.\d+)?)(B|KB|MB|GB|KiB|MiB|GiB)$/;

/** Milliseconds of a duration such as `1.5s`; undefined when the text is none. */
export function parseDuration(text: string): number | undefined {
  return parse(text, durationPattern, durationUnits);
}

/** Bytes of a size such as `9MiB`; undefined when the text is none. */
export function parseSize(text: string): number | undefined {
  return parse(text, sizePattern, sizeUnits);
}

function parse(text: string, pattern: RegExp, units: Readonly<Record<string, number>>): number | undefined {
  const match = pattern.exec(text);
  return match ? Math.round(Number(match[1]) * units[match[2]!]!) : undefined;
}
