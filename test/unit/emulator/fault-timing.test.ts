import { describe, expect, test } from "vitest";
import { FaultTiming, type FaultWhen } from "../../../src/emulator/fault-timing.ts";

/** The numbers of the calls, of the first so many, at which a fault is due. */
function due(when: FaultWhen, calls: number, place = 0): number[] {
  const timing = new FaultTiming(when, place);
  return Array.from({ length: calls }, (_, i) => i + 1).filter((number) => timing.isDue(number, 0));
}

test.each([
  [{}, [1, 2, 3, 4, 5, 6]],
  [{ call: "all" }, [1, 2, 3, 4, 5, 6]],
  [{ call: 3 }, [3]],
  [{ call: "2-4" }, [2, 3, 4]],
  [{ call: "5-" }, [5, 6]],
  [{ every: 2 }, [2, 4, 6]],
  [{ call: "3-", every: 2 }, [4, 6]],
  [{ call: 2, burst: 3 }, [2, 3, 4]],
  [{ every: 4, burst: 2 }, [4, 5]],
])("%j", (when, expected) => {
  expect(due(when, 6)).toEqual(expected);
});

test("a window of time, its end not in it", () => {
  const timing = new FaultTiming({ fromMs: 100, untilMs: 200 }, 0);
  const at = [0, 99, 100, 150, 199, 200].filter((elapsedMs, i) => timing.isDue(i + 1, elapsedMs));
  expect(at).toEqual([100, 150, 199]);
});

describe("by chance", () => {
  test("about as often as said: within five standard deviations", () => {
    for (const probability of [0.01, 0.3, 0.9]) {
      const count = due({ probability, seed: 7 }, 10_000).length;
      const deviation = Math.sqrt(10_000 * probability * (1 - probability));
      expect(Math.abs(count - 10_000 * probability)).toBeLessThan(5 * deviation);
    }
  });

  test("at the same calls for the same seed, at others for another seed or place", () => {
    const when = { probability: 0.2, seed: 1 };
    const first = due(when, 200);
    expect(due(when, 200)).toEqual(first);
    expect(due({ ...when, seed: 2 }, 200)).not.toEqual(first);
    expect(due(when, 200, 1)).not.toEqual(first);
  });

  test("one that is due begins its burst", () => {
    const single = due({ probability: 0.05, seed: 3 }, 400);
    const expected = new Set<number>();
    for (const number of single) if (!expected.has(number)) for (let i = 0; i < 5; i++) expected.add(number + i);
    expect(due({ probability: 0.05, seed: 3, burst: 5 }, 400)).toEqual([...expected].filter((number) => number <= 400));
  });
});
