/** The filter language (FILTER-01 to -05). */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseFilter } from "../../../../src/emulator/pubsub/filter.ts";
import { propertySeed } from "../../../support/property-seed.ts";

const matches = (filter: string, attributes: Readonly<Record<string, string>>): boolean =>
  parseFilter(filter)(new Map(Object.entries(attributes)));

const refusal = (filter: string): string => {
  try {
    parseFilter(filter);
    return "no refusal";
  } catch (error) {
    const { code, details } = error as { readonly code: number; readonly details: string };
    return `${code}: ${details}`;
  }
};

test.each([
  ["attributes:name", { name: "" }, true],
  ["attributes:name", { Name: "x" }, false],
  ['attributes:"my key"', { "my key": "x" }, true],
  ["attributes:a-b_1", { "a-b_1": "x" }, true],
  ["attributes:AND", { AND: "x" }, true],
  ["  attributes : name  ", { name: "x" }, true],
  ['attributes.name = "com"', { name: "com" }, true],
  ['attributes.name="com"', { name: "COM" }, false],
  ['attributes.name = "com"', { name: "com " }, false],
  ['attributes.name = "com"', {}, false],
  ['attributes.name != "com"', { name: "org" }, true],
  ['attributes.name != "com"', { name: "com" }, false],
  ['attributes.name != "com"', {}, true],
  ['attributes."my key" = "x"', { "my key": "x" }, true],
  ['hasPrefix(attributes.name, "co")', { name: "com" }, true],
  ['hasPrefix( attributes.name , "co" )', { name: "org" }, false],
  ['hasPrefix(attributes."a b", "")', { "a b": "x" }, true],
  ['hasPrefix(attributes.name, "")', {}, false],
  ["NOT attributes:name", {}, true],
  ["-attributes:name", { name: "x" }, false],
  ["NOT (attributes:a OR attributes:b)", { c: "x" }, true],
  ['NOT hasPrefix(attributes.a, "x")', { a: "y" }, true],
  ["NOT attributes:a AND attributes:b", { b: "x" }, true],
  ["NOT attributes:a AND attributes:b", { a: "x" }, false],
  ["attributes:a AND attributes:b AND attributes:c", { a: "", b: "", c: "" }, true],
  ["attributes:a AND attributes:b AND attributes:c", { a: "", b: "" }, false],
  ["attributes:a OR attributes:b OR attributes:c", { c: "" }, true],
  ["attributes:a AND (attributes:b OR attributes:c)", { a: "", c: "" }, true],
  ["(attributes:a AND attributes:b) OR attributes:c", { c: "" }, true],
  ["((attributes:a))", { a: "" }, true],
  ['attributes.a = "\\"\\\\\\n\\t\\\'"', { a: "\"\\\n\t'" }, true],
  ['attributes.a = "\\u00e9\\x41\\101\\U0001F680"', { a: "éAA🚀" }, true],
  ['attributes.a = "\\ud83d\\ude80"', { a: "🚀" }, true],
  ['attributes."ключ" = "значение"', { ключ: "значение" }, true],
] as const)("%s of %j: %s", (filter, attributes, expected) => {
  expect(matches(filter, attributes)).toBe(expected);
});

test("inherited properties of objects are no attributes", () => {
  expect(matches("attributes:constructor", {})).toBe(false);
});

describe("refused, and where", () => {
  test.each([
    [" ", 2, "expected attributes, hasPrefix, NOT or (, found the end"],
    ["name", 1, 'expected attributes, hasPrefix, NOT or (, found "name"'],
    ["attributes", 11, 'expected ".", found the end'],
    ["attributes.", 12, "expected a key"],
    ["attributes:", 12, "expected a key"],
    ['attributes.ключ = "x"', 12, "expected a key"],
    ['attributes.a > "b"', 14, 'expected = or !=, found "> "b""'],
    ["attributes.a = b", 16, 'expected a text in double quotes, found "b"'],
    ["attributes.a = 'b'", 16, "expected a text in double quotes"],
    ["attributes.a = attributes.b", 16, "expected a text in double quotes"],
    ['"a" = "b"', 1, "expected attributes"],
    ['attributes.a = "b', 16, "a text has no closing quote"],
    ['attributes.a = "\\q"', 17, '"\\q" is no escape'],
    ['attributes.a = "\\U00110000"', 17, "beyond the last character of Unicode"],
    ["attributes:a AND attributes:b OR attributes:c", 31, "AND and OR stand side by side"],
    ["attributes:a OR attributes:b AND attributes:c", 30, "AND and OR stand side by side"],
    ["attributes:a and attributes:b", 14, "expected AND, OR or the end"],
    ["attributes:a AND", 17, "found the end"],
    ["(attributes:a", 14, 'expected ")", found the end'],
    ["attributes:a)", 13, "expected AND, OR or the end"],
    ["NOT NOT attributes:a", 5, "expected attributes"],
    ["NOTattributes:a", 1, "expected attributes"],
    ['hasSuffix(attributes.a, "b")', 1, "expected attributes"],
    ['hasPrefix(attributes:a, "b")', 21, 'expected "."'],
    ["hasPrefix(attributes.a)", 23, 'expected ","'],
    ["ATTRIBUTES:a", 1, "expected attributes"],
  ])("%s", (filter, character, words) => {
    const refused = refusal(filter);
    expect(refused).toContain(`3: The filter is wrong at character ${character}: `);
    expect(refused).toContain(words);
  });

  test("what has more than 256 bytes", () => {
    const ofBytes = (bytes: number): string => `attributes:"${"é".repeat((bytes - 13) / 2)}"`;
    expect(Buffer.byteLength(ofBytes(255))).toBe(255);
    expect(refusal(ofBytes(255))).toBe("no refusal");
    expect(refusal(`${ofBytes(255)} `)).toBe("no refusal");
    expect(refusal(ofBytes(257))).toBe("3: The filter has 257 bytes; at most 256 are taken");
  });
});

/** A filter as a tree, to be written as text and judged by itself. */
type Tree =
  | { readonly kind: "has"; readonly key: string }
  | { readonly kind: "equal"; readonly key: string; readonly text: string }
  | { readonly kind: "unequal"; readonly key: string; readonly text: string }
  | { readonly kind: "prefix"; readonly key: string; readonly text: string }
  | { readonly kind: "not"; readonly of: Tree }
  | { readonly kind: "AND"; readonly of: readonly Tree[] }
  | { readonly kind: "OR"; readonly of: readonly Tree[] };

const key = fc.constantFrom("a", "b-c", "d e", '"');
const text = fc.constantFrom("", "x", "xy", "\\", "é");
const tree = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    fc.record({ kind: fc.constant("has" as const), key }),
    fc.record({ kind: fc.constantFrom("equal" as const, "unequal" as const, "prefix" as const), key, text }),
    fc.record({ kind: fc.constant("not" as const), of: tie("tree") }),
    fc.record({
      kind: fc.constantFrom("AND" as const, "OR" as const),
      of: fc.array(tie("tree"), { minLength: 2, maxLength: 3 }),
    }),
  ),
})).tree;

const quoted = (value: string): string => `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
const written = (tree: Tree): string => {
  if (tree.kind === "not") return `NOT (${written(tree.of)})`;
  if (tree.kind === "AND" || tree.kind === "OR") {
    return tree.of.map((each) => `(${written(each)})`).join(` ${tree.kind} `);
  }
  const attribute = `attributes.${quoted(tree.key)}`;
  if (tree.kind === "has") return `attributes:${quoted(tree.key)}`;
  if (tree.kind === "prefix") return `hasPrefix(${attribute}, ${quoted(tree.text)})`;
  return `${attribute} ${tree.kind === "equal" ? "=" : "!="} ${quoted(tree.text)}`;
};
const judged = (tree: Tree, attributes: Readonly<Record<string, string>>): boolean => {
  if (tree.kind === "not") return !judged(tree.of, attributes);
  if (tree.kind === "AND") return tree.of.every((each) => judged(each, attributes));
  if (tree.kind === "OR") return tree.of.some((each) => judged(each, attributes));
  const value = attributes[tree.key];
  if (tree.kind === "has") return value !== undefined;
  if (tree.kind === "prefix") return value !== undefined && value.slice(0, tree.text.length) === tree.text;
  return (value === tree.text) === (tree.kind === "equal");
};

test(`a filter says what its tree says, PROPERTY_SEED=${propertySeed}`, () => {
  fc.assert(
    fc.property(tree, fc.dictionary(key, text, { noNullPrototype: true }), (tree, attributes) => {
      const filter = written(tree);
      fc.pre(Buffer.byteLength(filter) <= 256);
      expect(matches(filter, attributes)).toBe(judged(tree, attributes));
    }),
    { seed: propertySeed, numRuns: 500 },
  );
});
