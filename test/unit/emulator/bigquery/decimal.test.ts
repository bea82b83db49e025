import { describe, expect, test } from "vitest";
import {
  decimalFromBytes,
  decimalFromDouble,
  decimalFromInteger,
  decimalFromText,
  textOfDecimal,
} from "../../../../src/emulator/bigquery/decimal.ts";
import { bytes } from "./writer.ts";

const numeric = { type: "NUMERIC" } as const;
const bignumeric = { type: "BIGNUMERIC" } as const;

describe("the byte form", () => {
  test.each([
    ["00", "0"],
    ["008c8647", "1.2"],
    ["003665c4", "-1"],
    ["0020a107", "0.128"],
    ["000065cd1d", "128"],
    ["01", "0.000000001"],
    ["ff", "-0.000000001"],
  ])("%s is the NUMERIC %s", (hex, text) => {
    expect(textOfDecimal(decimalFromBytes(bytes(hex), numeric), "NUMERIC")).toBe(text);
  });

  test("sign-extended forms up to the size of the type are read, longer and empty ones refused", () => {
    expect(decimalFromBytes(bytes("01".padEnd(32, "0")), numeric)).toBe(1n);
    expect(decimalFromBytes(bytes("ff".repeat(16)), numeric)).toBe(-1n);
    expect(() => decimalFromBytes(bytes("00".repeat(17)), numeric)).toThrow("1 to 16 bytes");
    expect(() => decimalFromBytes(bytes(""), numeric)).toThrow("1 to 16 bytes");
    expect(decimalFromBytes(bytes("ff".repeat(32)), bignumeric)).toBe(-1n);
    expect(() => decimalFromBytes(bytes("ff".repeat(33)), bignumeric)).toThrow("1 to 32 bytes");
  });

  test("NUMERIC ends at 38 nines, BIGNUMERIC at 256 bits", () => {
    const littleEndian = (value: bigint): Buffer =>
      Buffer.from(bytes(value.toString(16).padStart(32, "0")).toReversed());
    expect(decimalFromBytes(littleEndian(10n ** 38n - 1n), numeric)).toBe(10n ** 38n - 1n);
    expect(() => decimalFromBytes(littleEndian(10n ** 38n), numeric)).toThrow("out of range of NUMERIC");
    const largest = bytes(`${"ff".repeat(31)}7f`);
    expect(textOfDecimal(decimalFromBytes(largest, bignumeric), "BIGNUMERIC")).toBe(
      "578960446186580977117854925043439539266.34992332820282019728792003956564819967",
    );
    const smallest = bytes(`${"00".repeat(31)}80`);
    expect(textOfDecimal(decimalFromBytes(smallest, bignumeric), "BIGNUMERIC")).toBe(
      "-578960446186580977117854925043439539266.34992332820282019728792003956564819968",
    );
  });
});

describe("text", () => {
  test.each([
    ["1e3", "1000"],
    ["+.5", "0.5"],
    ["5.", "5"],
    ["-12.3400", "-12.34"],
    ["0.0000000005", "0.000000001"],
    ["-0.0000000005", "-0.000000001"],
    ["0.00000000049", "0"],
    ["0e999999999", "0"],
    ["1e-999999999", "0"],
  ])("%s is %s", (text, canonical) => {
    expect(textOfDecimal(decimalFromText(text, numeric), "NUMERIC")).toBe(canonical);
  });

  test.each(["", ".", "abc", "1,5", "1e", "0x1", " 1", "NaN"])("%j is no number", (text) => {
    expect(() => decimalFromText(text, numeric)).toThrow("Text is no NUMERIC value");
  });

  test.each(["1e29", "1e999999999", "99999999999999999999999999999.9999999995"])("%s is out of range", (text) => {
    expect(() => decimalFromText(text, numeric)).toThrow("out of range");
  });
});

describe("precision and scale", () => {
  const money = { type: "NUMERIC", precision: 5, scale: 2 } as const;

  test("a fraction is rounded half away from zero, or to even where the column says so", () => {
    expect(textOfDecimal(decimalFromText("1.005", money), "NUMERIC")).toBe("1.01");
    expect(textOfDecimal(decimalFromText("-1.005", money), "NUMERIC")).toBe("-1.01");
    const even = { ...money, roundHalfEven: true };
    expect(textOfDecimal(decimalFromText("1.005", even), "NUMERIC")).toBe("1");
    expect(textOfDecimal(decimalFromText("1.015", even), "NUMERIC")).toBe("1.02");
    expect(textOfDecimal(decimalFromText("1.0050001", even), "NUMERIC")).toBe("1.01");
  });

  test("whole digits beyond the precision are out of range, also after rounding", () => {
    expect(textOfDecimal(decimalFromText("999.99", money), "NUMERIC")).toBe("999.99");
    expect(() => decimalFromText("1000", money)).toThrow("out of range of NUMERIC(5,2)");
    expect(() => decimalFromText("999.995", money)).toThrow("out of range of NUMERIC(5,2)");
  });
});

describe("integers and doubles", () => {
  test("an integer keeps every digit", () => {
    expect(textOfDecimal(decimalFromInteger(9007199254740993n, numeric), "NUMERIC")).toBe("9007199254740993");
  });

  test("a double is its exact binary value, rounded", () => {
    // 0.1 is 0.1000000000000000055511151231257827021181583404541015625 in binary.
    expect(textOfDecimal(decimalFromDouble(0.1, numeric), "NUMERIC")).toBe("0.1");
    expect(textOfDecimal(decimalFromDouble(0.1, bignumeric), "BIGNUMERIC")).toBe(
      "0.10000000000000000555111512312578270212",
    );
    expect(textOfDecimal(decimalFromDouble(-2.5, numeric), "NUMERIC")).toBe("-2.5");
    expect(decimalFromDouble(5e-324, numeric)).toBe(0n);
    expect(decimalFromDouble(2 ** 70, numeric)).toBe(2n ** 70n * 10n ** 9n);
  });

  test("NaN and infinities are refused", () => {
    expect(() => decimalFromDouble(Number.NaN, numeric)).toThrow("no NaN");
    expect(() => decimalFromDouble(-Infinity, bignumeric)).toThrow("no NaN");
    expect(() => decimalFromDouble(1e30, numeric)).toThrow("out of range");
  });
});
