/** Random values for scalar columns as JSON text: fitting ones, and values at and just beyond every limit. */
import type { ColumnOptions } from "../../src/mapping/mapping-plan.ts";
import type { Column, ColumnType } from "../../src/schema/table-schema.ts";
import { chance, digits, pick, times } from "./random-choices.ts";
import type { Choose } from "./random-choices.ts";
import { blanks, longQuoted, quoted, randomJson, randomNumber, randomText } from "./random-json.ts";
import { randomDate, randomDatetime, randomInterval, randomTime, randomTimestamp } from "./random-times.ts";

type Make = (choose: Choose, column: Column, own: ColumnOptions) => string;

/** A value that the column probably takes. */
export function randomScalar(choose: Choose, column: Column, own: ColumnOptions): string {
  const make = scalars[column.type];
  return make ? make(choose, column, own) : "null";
}

const scalars: Readonly<Partial<Record<ColumnType, Make>>> = {
  BOOL: (choose) => pick(choose, ["true", "false", '"true"', '"FALSE"', '"True"', '"yes"', '""']),
  INT64: (choose) => numberOrText(choose, randomInteger(choose)),
  FLOAT64: (choose) =>
    numberOrText(choose, randomDouble(choose), ["NaN", "inf", "-Infinity", "+INF", "nan", "1.5.2", ".5", "5.", "+1e2"]),
  NUMERIC: (choose, column) => numberOrText(choose, randomDecimal(choose, column), encodedDecimals),
  BIGNUMERIC: (choose, column) => numberOrText(choose, randomDecimal(choose, column), encodedDecimals),
  STRING: randomString,
  BYTES: (choose, column) => quoted(choose, randomBase64(choose, column)),
  DATE: (choose) =>
    textOrNumber(choose, randomDate(choose), () => near(choose, pick(choose, [0n, -719_162n, 2_932_896n, 19_000n]))),
  TIME: (choose) => textOrNumber(choose, randomTime(choose), () => packedTime(choose)),
  DATETIME: (choose) => textOrNumber(choose, randomDatetime(choose), () => packedDatetime(choose)),
  TIMESTAMP: (choose, _, own) => textOrNumber(choose, randomTimestamp(choose), () => randomMoment(choose, own)),
  JSON: randomDocumentPart,
  GEOGRAPHY: randomGeography,
  INTERVAL: (choose) => quoted(choose, randomInterval(choose)),
};

/** A number as a number or as text, or one of the texts that are none. */
function numberOrText(
  choose: Choose,
  number: string,
  texts: readonly string[] = ["1.0", "+5", "007", "-0", " 1", "1_0"],
): string {
  if (chance(choose, 60)) return number;
  return quoted(choose, chance(choose, 70) ? number : pick(choose, texts));
}

function textOrNumber(choose: Choose, text: string, number: () => string): string {
  if (chance(choose, 60)) return quoted(choose, text);
  const value = number();
  return chance(choose, 15) ? quoted(choose, value) : value;
}

/** A whole number that is a few steps from `value`, perhaps spelled with a fraction or an exponent. */
function near(choose: Choose, value: bigint): string {
  return respelled(choose, String(value + BigInt(choose(-2, 2))));
}

function respelled(choose: Choose, integer: string): string {
  const form = choose(0, 19);
  if (form === 19) return `${integer}.0`;
  if (form === 18) return `${integer}e0`;
  if (form === 17) return `${integer}.5`;
  if (form === 16) return `${integer}00E-2`;
  return form === 15 && integer.endsWith("000") ? `${integer.slice(0, -3)}e3` : integer;
}

function randomInteger(choose: Choose): string {
  if (chance(choose, 40))
    return near(choose, pick(choose, [0n, 2n ** 53n, 2n ** 31n, 2n ** 32n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 64n]));
  if (chance(choose, 5)) return pick(choose, ["1e999999999", "1e-999999999", "0e99", "123456789012345678901234567890"]);
  return respelled(choose, String(choose(-1_000_000_000, 1_000_000_000)));
}

/** Doubles whose nearest neighbour is hard to find: halfway cases, subnormals, more digits than a double has. */
const hardDoubles = [
  "9007199254740993",
  "9007199254740992.5",
  "1.00000000000000011102230246251565404",
  "2.2250738585072014e-308",
  "2.2250738585072011e-308",
  "4.9406564584124654e-324",
  "2.4703282292062327e-324",
  "2.4703282292062328e-324",
  "1.7976931348623157e308",
  "1.7976931348623158079e308",
  "1.797693134862315808e308",
  "6.9294956446009195e15",
  "3.7455744005952583e15",
  "1e22",
  "1e23",
  "8.5e-320",
  "0.1e-6",
  "123456789012345678901234567890.5",
];

function randomDouble(choose: Choose): string {
  if (chance(choose, 30)) return pick(choose, hardDoubles);
  if (chance(choose, 50)) return randomNumber(choose);
  return `${choose(-99_999, 99_999)}.${digits(choose, choose(1, 20))}e${choose(-330, 310)}`;
}

const encodedDecimals = [
  "AIyGRw==",
  "AA==",
  "",
  "abc",
  "/////////////////////38=",
  "\u0000\u008c\u0086G",
  "ÿ",
  "名",
  "NaN",
  ".5",
  "5.",
  "+1",
  "1e",
  ".",
];

/** Around the limits of the column's precision and scale. */
function randomDecimal(choose: Choose, column: Column): string {
  const [scale, whole] = column.type === "NUMERIC" ? [column.scale ?? 9, 29] : [column.scale ?? 38, 38];
  const most = column.precision === undefined ? whole : column.precision - scale;
  if (chance(choose, 10)) return pick(choose, decimalEdges);
  const integerDigits = chance(choose, 70) ? Math.min(most, choose(0, 6)) : choose(Math.max(0, most - 1), most + 1);
  const fractionDigits = chance(choose, 70) ? Math.min(scale, choose(0, 4)) : choose(Math.max(0, scale - 1), scale + 2);
  const nines = chance(choose, 10);
  const part = (count: number): string => (nines ? "9".repeat(count) : digits(choose, count));
  const integer = part(integerDigits).replace(/^0+/, "") || "0";
  const fraction = fractionDigits > 0 ? `.${part(fractionDigits)}${pick(choose, ["", "", "5", "0", "49"])}` : "";
  const exponent = chance(choose, 10) ? `e${choose(-3, 3)}` : "";
  return `${chance(choose, 30) ? "-" : ""}${integer}${fraction}${exponent}`;
}

const decimalEdges = [
  "99999999999999999999999999999.999999999",
  "-99999999999999999999999999999.999999999",
  "99999999999999999999999999999.9999999995",
  "99999999999999999999999999999.9999999994",
  "100000000000000000000000000000",
  "578960446186580977117854925043439539266.34992332820282019728792003956564819967",
  "578960446186580977117854925043439539266.34992332820282019728792003956564819968",
  "-578960446186580977117854925043439539266.34992332820282019728792003956564819968",
  "-578960446186580977117854925043439539266.34992332820282019728792003956564819969",
  "0.0000000005",
  "-0.0000000005",
  "0.00000000049999",
  "5e-39",
  "4.9e-39",
  "1e-999999999",
  "1e999999999",
  "0e999999999",
  "-0",
];

function randomString(choose: Choose, column: Column): string {
  const form = choose(0, 9);
  if (form === 9) return randomNumber(choose);
  if (form === 8) return pick(choose, ["true", "false"]);
  const { maxLength } = column;
  if (maxLength === undefined || maxLength > 100) {
    return chance(choose, 5) ? longQuoted(choose) : quoted(choose, randomText(choose, choose(0, 12)));
  }
  return quoted(choose, randomText(choose, choose(Math.max(0, maxLength - 1), maxLength + 1)));
}

function randomBase64(choose: Choose, column: Column): string {
  if (chance(choose, 10)) return pick(choose, ["AB", "+-AA", "AA=", "AA\n==", "a", "=", "AA= =", "é", "AAA=AAAA"]);
  const length = chance(choose, 50) ? choose(0, 8) : (column.maxLength ?? 20) + choose(0, 1);
  const bytes = Buffer.from(times(length, () => choose(0, 255)));
  const spelling = pick(choose, ["base64", "base64url"] as const);
  const text = bytes.toString(spelling);
  if (chance(choose, 30)) return text.replaceAll("=", "");
  return text.padEnd(Math.ceil(text.length / 4) * 4, "=");
}

function packedTime(choose: Choose): string {
  if (chance(choose, 40)) return near(choose, pick(choose, [0n, 102_806_536_767n, 999_999n, 62_914_560n]));
  return String(packTime(choose));
}

function packTime(choose: Choose): bigint {
  const second = (BigInt(choose(0, 24)) << 12n) | (BigInt(choose(0, 60)) << 6n) | BigInt(choose(0, 60));
  return (second << 20n) | BigInt(choose(0, 1_000_000));
}

function packedDatetime(choose: Choose): string {
  if (chance(choose, 30))
    return near(choose, pick(choose, [74_904_229_642_240n, 703_674_213_004_689_983n, 0n, 1_715_360_343n]));
  const day = (BigInt(choose(1900, 2100)) << 9n) | (BigInt(choose(0, 13)) << 5n) | BigInt(choose(0, 31));
  return String((day << 37n) | packTime(choose));
}

const perSecond = { seconds: 1n, millis: 1000n, micros: 1_000_000n, nanos: 1_000_000_000n };

function randomMoment(choose: Choose, own: ColumnOptions): string {
  const unit = perSecond[own.timestampUnit ?? "micros"];
  if (chance(choose, 30)) return near(choose, pick(choose, [0n, -62_135_596_800n, 253_402_300_800n]) * unit);
  const whole = BigInt(choose(-2_000_000_000, 2_000_000_000)) * unit + BigInt(choose(0, 999_999));
  return chance(choose, 30) ? `${whole}.${digits(choose, choose(1, 10))}` : respelled(choose, String(whole));
}

function randomDocumentPart(choose: Choose): string {
  const odd = chance(choose, 15);
  if (chance(choose, 2)) return nested(choose(495, 503));
  const json = randomJson(choose, 3, odd);
  if (!chance(choose, 25)) return json;
  return quoted(choose, chance(choose, 10) ? json.slice(1) : blanks(choose) + json + blanks(choose));
}

function nested(levels: number): string {
  return "[".repeat(levels) + "]".repeat(levels);
}

const geographies = [
  "POINT(1 2)",
  "point (1.5 -2e1)",
  "POINT EMPTY",
  "POINT(0 91)",
  "POINT(1)",
  "LINESTRING(1 1, 2 1, 3.1 2.88)",
  "POLYGON((0 0, 1 0, 1 1, 0 0))",
  "MULTIPOINT((1 2), (3 4))",
  "MULTIPOINT(1 2, 3 4)",
  "MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))",
  "GEOMETRYCOLLECTION(POINT(1 2), LINESTRING(0 0, 1 1))",
  "POINT(1 2) x",
  "CIRCLE(1 2)",
  "",
];

function randomGeography(choose: Choose): string {
  if (chance(choose, 50)) return quoted(choose, pick(choose, geographies));
  const position = (): string => `[${choose(-180, 180)},${chance(choose, 5) ? 90.5 : choose(-90, 90)}]`;
  const line = (): string => `[${position()},${position()}]`;
  const geometry = pick(choose, [
    `{"type":"Point","coordinates":${position()}}`,
    `{"coordinates":${line()},"type":"LineString"}`,
    `{"type":"MultiPoint","coordinates":[${position()}]}`,
    `{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}`,
    `{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":${position()}}]}`,
    `{"type":"Nope"}`,
    `{"type":"Point"}`,
    `{"type":"Point","coordinates":["1",2]}`,
  ]);
  return chance(choose, 50) ? geometry : quoted(choose, geometry);
}
