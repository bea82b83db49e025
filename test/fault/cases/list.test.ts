/** Every reported case of the fault suite's areas has a test under its id and title. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface PublicCase {
  readonly id: string;
  readonly area: string;
  readonly title: string;
}

const cases = JSON.parse(
  readFileSync(new URL("../../fixtures/public-cases.json", import.meta.url), "utf8"),
) as readonly PublicCase[];

test("every case has a test, in the file of its area", () => {
  const untested = cases.filter(({ id, area, title }) => !sourceOf(area).includes(`("${id} ${title}", `));
  expect(untested).toEqual([]);
  expect(cases).toHaveLength(39);
});

function sourceOf(area: string): string {
  const files = readdirSync(import.meta.dirname).filter((name) => name.startsWith(`${area}.`));
  return files.map((name) => readFileSync(`${import.meta.dirname}/${name}`, "utf8")).join("\n");
}
