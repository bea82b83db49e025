import { describe, expect, test } from "vitest";
import { exactlyOnceLimits, plainLimits } from "../../../src/source/ack-requests.ts";
import {
  countForRequest,
  graceMs,
  lineOf,
  partsOf,
  pauseBefore,
  requestsFor,
  roundSeconds,
} from "../../../src/source/extension-pace.ts";
import { leaseInParts, type LeasePart } from "../../../src/source/lease.ts";

const ids = (length: number, bytes = 180) => ({ length, ackIdBytes: length * bytes });

/** A part of its own, with a deadline in seconds. */
function part(deadline: number, due: number, length = 250): LeasePart {
  const times = { receivedAt: 0, deadlineAt: deadline * 1000, extendAt: due * 1000 };
  return leaseInParts(ids(length), 1, times).parts[0]!;
}

describe("how many requests ids take", () => {
  test.each([
    [2500, 180, plainLimits, 1],
    [20_000, 180, plainLimits, 8],
    // (507,904 - 512) / (400 + 3) = 1,259 ids.
    [1259, 400, plainLimits, 1],
    // (45,000 - 512) / (180 + 3 + 60) = 183 ids.
    [183, 180, exactlyOnceLimits, 1],
    [20_000, 180, exactlyOnceLimits, 109.25],
  ])("%i of %i bytes: with %j %d", (count, bytes, limits, requests) => {
    expect(requestsFor(ids(count, bytes), limits)).toBeCloseTo(requests, 1);
  });
});

test("a batch is extended in parts of a tenth of a request at most, but not in more parts than messages", () => {
  expect(partsOf(ids(1), plainLimits)).toBe(1);
  expect(partsOf(ids(250), plainLimits)).toBe(1);
  expect(partsOf(ids(251), plainLimits)).toBe(2);
  expect(partsOf(ids(1000), plainLimits)).toBe(4);
  expect(partsOf(ids(1000), exactlyOnceLimits)).toBe(55);
  expect(partsOf(ids(2, 400_000), plainLimits)).toBe(2);
});

test.each([
  ["five seconds, so that a second try fits in", 10, false, 1, 5000],
  ["nine seconds before the first deadline, for nobody knows how long the batch was on its way", 10, true, 1, 9000],
  ["a tenth of a long lease", 600, false, 1, 60_000],
  ["a request every 1.1 s for all that is held, and a second", 60, false, 20, 23_000],
])("an extension is due %s", (_, seconds, isFirst, requests, grace) => {
  expect(graceMs(seconds * 1000, isFirst, requests)).toBe(grace);
});

test.each([1, 8, 109, 200])("all of %i requests have their turn before the first one is due again", (requests) => {
  const seconds = roundSeconds(requests);
  const dueAgainMs = seconds * 1000 - graceMs(seconds * 1000, false, requests);
  expect(dueAgainMs).toBeGreaterThanOrEqual(requests * 1100);
});

describe("the line", () => {
  test("is empty while nothing is due", () => {
    expect(lineOf([part(10, 5), part(20, 15)], 4999)).toEqual([]);
  });

  test("holds what is due within a second, by deadlines", () => {
    const [late, early, soon, later] = [part(11, 5), part(10, 5), part(9, 6), part(8, 6.001)];
    expect(lineOf([late, later, soon, early], 5000)).toEqual([soon, early, late]);
  });
});

test("a request takes as many parts as fit, and one at least", () => {
  const ten = Array.from({ length: 11 }, () => part(10, 5));
  expect(countForRequest(ten, plainLimits)).toBe(10);
  expect(countForRequest(ten.slice(0, 3), plainLimits)).toBe(3);
  expect(countForRequest([part(10, 5, 4000)], plainLimits)).toBe(1);
});

describe("after a request", () => {
  test("a little more than a second passes as a rule", () => {
    expect(pauseBefore([], plainLimits, 0)).toBe(1100);
    expect(pauseBefore([part(10, 0, 2500)], plainLimits, 0)).toBe(1100);
  });

  test("less, when more has to be sent before the deadline, less a second, than seconds are left", () => {
    const twenty = Array.from({ length: 20 }, () => part(10, 0, 2500));
    expect(pauseBefore(twenty, plainLimits, 0)).toBe(9000 / 20);
    // The tightest place of the line counts.
    expect(pauseBefore([...twenty, part(600, 0, 2500)], plainLimits, 5000)).toBe(4000 / 20);
  });

  test("nothing is gained by haste for leases that have ended", () => {
    expect(pauseBefore([part(1, 0, 2500), part(1, 0, 2500)], plainLimits, 1000)).toBe(1100);
  });

  test("a burst has its limits: 200 requests a second", () => {
    const all = Array.from({ length: 20 }, () => part(10, 0, 2500));
    expect(pauseBefore(all, plainLimits, 8999)).toBe(5);
  });
});
