// Reads vitest's JSON reports and prints how many tests ran against which server; the last line is `PASSED FAILED`.
//   count-tests.mjs REPORT_WITH_GOCCYS_EMULATOR REPORT...
import { readFileSync } from "node:fs";

const read = (report) => JSON.parse(readFileSync(report, "utf8")).testResults;
const testsOf = (results) =>
  results.flatMap((file) => file.assertionResults.map((test) => ({ ...test, file: file.name })));

const onGoccy = (test) => test.fullName.includes("goccy's emulator");
const onGoogle = (test) => test.fullName.includes("Google's emulator");
// The first report is of a run that left out all else, the others are of runs without that emulator.
const [withGoccy, ...others] = process.argv.slice(2).map(read);
const testResults = [withGoccy, ...others].flat();
const tests = [...testsOf(withGoccy).filter(onGoccy), ...testsOf(others.flat()).filter((test) => !onGoccy(test))];

const isIn = (folder) => (test) => test.file.includes(`/test/${folder}/`);
const groups = {
  "against Google's Pub/Sub emulator": onGoogle,
  "against goccy's BigQuery emulator": onGoccy,
  "against the embedded servers": (test) => isIn("integration")(test) && !onGoogle(test) && !onGoccy(test),
  "under faults": isIn("fault"),
  "properties and hostile payloads": isIn("property"),
  units: isIn("unit"),
};

const count = (list, status) => list.filter((test) => test.status === status).length;
const print = (...cells) =>
  process.stdout.write(
    `${cells[0].padEnd(36)}${cells
      .slice(1)
      .map((cell) => String(cell).padStart(9))
      .join("")}\n`,
  );

print("tests", "passed", "failed", "skipped");
for (const [name, belongs] of Object.entries(groups)) {
  const list = tests.filter(belongs);
  const [passed, failed] = [count(list, "passed"), count(list, "failed")];
  print(name, passed, failed, list.length - passed - failed);
}
for (const { fullName } of tests.filter((test) => test.fullName.includes("SKIPPED")))
  process.stdout.write(`${fullName}\n`);

const broken = testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0).length;
process.stdout.write(`${count(tests, "passed")} ${count(tests, "failed") + broken}\n`);
