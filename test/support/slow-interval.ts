/** INTERVAL of the slow path: canonical text or an ISO 8601 duration, always sent in canonical form. */
import { cutFraction } from "./slow-times.ts";
import { Refused } from "./slow-refused.ts";

type Groups = Readonly<Record<string, string | undefined>>;

const canonical = new RegExp(
  String.raw`^(?<monthSign>[+-]?)(?<years>\d+)-(?<months>\d+) (?<days>[+-]?\d+) ` +
    String.raw`(?<timeSign>[+-]?)(?<hours>\d+):(?<minutes>\d+):(?<seconds>\d+)(?:\.(?<fraction>\d+))?$`,
);

const number = (name: string, unit: string): string => String.raw`(?:(?<${name}>[+-]?\d+)${unit})?`;

const iso8601 = new RegExp(
  `^P(?=.)${number("years", "Y")}${number("months", "M")}${number("weeks", "W")}${number("days", "D")}` +
    `(?:T(?=.)${number("hours", "H")}${number("minutes", "M")}` +
    String.raw`(?:(?<seconds>[+-]?\d+)(?:\.(?<fraction>\d+))?S)?)?$`,
);

const microsPerSecond = 1_000_000n;
const most = { months: 120_000n, days: 3_660_000n, micros: 87_840_000n * 3600n * microsPerSecond };

export function intervalOfText(text: string, onPrecisionLoss: "reject" | "round"): string {
  const written = canonical.exec(text)?.groups;
  const parts = written ? ofCanonical(written, onPrecisionLoss) : ofIso8601(text, onPrecisionLoss);
  for (const part of ["months", "days", "micros"] as const) {
    if (parts[part] > most[part] || parts[part] < -most[part]) throw new Refused("OUT_OF_RANGE");
  }
  return canonicalText(parts);
}

interface Parts {
  readonly months: bigint;
  readonly days: bigint;
  readonly micros: bigint;
}

function ofCanonical(groups: Groups, onPrecisionLoss: "reject" | "round"): Parts {
  const [years, months] = [integer(groups, "years"), integer(groups, "months")];
  const [hours, minutes, seconds] = [integer(groups, "hours"), integer(groups, "minutes"), integer(groups, "seconds")];
  if (months > 11n || minutes > 59n || seconds > 59n) throw new Refused("TYPE_MISMATCH");
  const micros = BigInt(cutFraction(groups["fraction"] ?? "", 6, onPrecisionLoss));
  return {
    months: sign(groups["monthSign"]) * (years * 12n + months),
    days: integer(groups, "days"),
    micros: sign(groups["timeSign"]) * (((hours * 60n + minutes) * 60n + seconds) * microsPerSecond + micros),
  };
}

function ofIso8601(text: string, onPrecisionLoss: "reject" | "round"): Parts {
  const groups = iso8601.exec(text)?.groups;
  if (!groups) throw new Refused("TYPE_MISMATCH");
  const minutes = integer(groups, "hours") * 60n + integer(groups, "minutes");
  const micros = BigInt(cutFraction(groups["fraction"] ?? "", 6, onPrecisionLoss));
  return {
    months: integer(groups, "years") * 12n + integer(groups, "months"),
    days: integer(groups, "weeks") * 7n + integer(groups, "days"),
    micros: (minutes * 60n + integer(groups, "seconds")) * microsPerSecond + sign(groups["seconds"]) * micros,
  };
}

function integer(groups: Groups, name: string): bigint {
  return BigInt((groups[name] ?? "0").replace(/^\+/, ""));
}

function sign(text: string | undefined): 1n | -1n {
  return text?.startsWith("-") ? -1n : 1n;
}

function canonicalText({ months, days, micros }: Parts): string {
  const size = (value: bigint): bigint => (value < 0n ? -value : value);
  const minus = (value: bigint): string => (value < 0n ? "-" : "");
  const seconds = size(micros) / microsPerSecond;
  const fraction = String(size(micros) % microsPerSecond)
    .padStart(6, "0")
    .replace(/0+$/, "");
  const clock = `${seconds / 3600n}:${(seconds / 60n) % 60n}:${seconds % 60n}${fraction && `.${fraction}`}`;
  return `${minus(months)}${size(months) / 12n}-${size(months) % 12n} ${days} ${minus(micros)}${clock}`;
}
