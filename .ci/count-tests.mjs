// Reads vitest's JSON report and prints how many tests ran against which server; the last line is `PASSED FAILED`.
import { readFileSync } from "node:fs";

const { testResults } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const tests = testResults.flatMap((file) => file.assertionResults.map((test) => ({ ...test, file: file.name })));

const groups = {
  "against Google's Pub/Sub emulator": (test) => test.fullName.includes("Google's emulator"),
  "against the embedded servers": (test) => test.file.includes("/integration/") && !test.fullName.includes("Google's emulator"),
  "properties and hostile payloads": (test) => test.file.includes("/property/"),
  "units": (test) => !test.file.includes("/integration/") && !test.file.includes("/property/"),
};
const count = (list, status) => list.filter((test) => test.status === status).length;

console.log(`${"tests".padEnd(36)}${"passed".padStart(8)}${"failed".padStart(8)}${"skipped".padStart(9)}`);
for (const [name, belongs] of Object.entries(groups)) {
  const list = tests.filter(belongs);
  const skipped = list.length - count(list, "passed") - count(list, "failed");
  console.log(`${name.padEnd(36)}${String(count(list, "passed")).padStart(8)}${String(count(list, "failed")).padStart(8)}${String(skipped).padStart(9)}`);
}
for (const test of tests.filter((t) => t.fullName.includes("SKIPPED"))) console.log(test.fullName);
const broken = testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0).length;
console.log(`${count(tests, "passed")} ${count(tests, "failed") + broken}`);
