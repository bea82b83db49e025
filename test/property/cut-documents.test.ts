/**
 * Messages stand one behind the other in one buffer. Here the next message goes on where a document was cut, so that whoever
 * reads beyond the end of a message finds just what it hopes for. FUZZ_SEED replays a run.
 */
import { expect, test } from "vitest";
import { Agreement } from "../support/agreement.ts";
import { choicesOf, times } from "../support/random-choices.ts";
import { randomDocument } from "../support/random-document.ts";
import { randomOptions, randomTable } from "../support/random-table.ts";
import { fuzzSeed } from "../support/property-seed.ts";

test(`documents cut at every byte, FUZZ_SEED=${fuzzSeed}`, { timeout: 600_000 }, () => {
  const choose = choicesOf(fuzzSeed);
  let cuts = 0;
  for (let i = 0; i < 40; i++) {
    const table = randomTable(choose);
    const options = randomOptions(choose, table);
    const agreement = new Agreement(table, options);
    for (const document of times(3, () => Buffer.from(randomDocument(choose, table, options)))) {
      const most = Math.min(document.length, 250);
      const halves = times(most, (at) => [document.subarray(0, at), document.subarray(at)]);
      agreement.check(halves.flat());
      cuts += most;
    }
    agreement.check(["{", "}", "{ ", " }", '{"', '":1}'].map((text) => Buffer.from(text)));
  }
  expect(cuts).toBeGreaterThan(1000);
});
