// Reads vitest's JSON reports (all arguments) and prints how many tests ran against which server; the last line is `PASSED FAILED`.
import { readFileSync } from "node:fs";

const testResults = process.argv.slice(2).flatMap((file) => JSON.parse(readFileSync(file, "utf8")).testResults);
const tests = testResults.flatMap((file) => file.assertionResults.map((test) => ({ ...test, file: file.name })));

const onGoogle = (test) => test.fullName.includes("Google's emulator");
const isIn = (folder) => (test) => test.file.includes(`/test/${folder}/`);
const groups = {
  "against Google's Pub/Sub emulator": onGoogle,
  "against the embedded servers": (test) => isIn("integration")(test) && !onGoogle(test),
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
