import { describe, expect, test } from "vitest";
import { pubsubProtos } from "../../../src/lib/protos.ts";
import { AckDraft, Parcel, type ParcelResult } from "../../../src/source/ack-draft.ts";
import type { AckFailure } from "../../../src/source/ack-failures.ts";
import { AckRequest, plainLimits } from "../../../src/source/ack-requests.ts";
import { pulled } from "../../support/pulled-messages.ts";

const subscription = "projects/acme/subscriptions/orders";
const newRequest = (maxIds = 2500): AckRequest => AckRequest.acknowledge(subscription, { ...plainLimits, maxIds });

/** A parcel of all messages of a batch, or of some; and what became of it. */
function parcelOf(names: readonly string[], indices?: readonly number[], giveUpAt = Infinity) {
  const outcome: { result?: ParcelResult } = {};
  const count = indices?.length ?? names.length;
  const parcel = new Parcel(pulled(...names), indices, giveUpAt, count, (result) => (outcome.result = result));
  return { parcel, count, outcome };
}

function draftOf(...parcels: { readonly parcel: Parcel; readonly count: number }[]): AckDraft {
  const draft = new AckDraft(newRequest());
  for (const { parcel, count } of parcels) expect(draft.fill(parcel, 0, count)).toBe(count);
  return draft;
}

function idsOf({ request }: AckDraft): string[] {
  const type = pubsubProtos().lookupType("google.pubsub.v1.AcknowledgeRequest");
  return (type.decode(request.bytes) as unknown as { ackIds: string[] }).ackIds;
}

describe("a parcel", () => {
  test("is done when something became of each of its ids, and names messages, not positions", () => {
    const { parcel, outcome } = parcelOf(["a", "b", "c", "d", "e", "f"], [0, 2, 3, 5]);
    parcel.lost(1, 1);
    parcel.taken(1);
    parcel.untaken(3, 1);
    expect(outcome.result).toBeUndefined();
    parcel.lost(2, 1);
    expect(outcome.result).toEqual({ lost: [2, 3], untaken: [5] });
  });

  test("tells at once of what is not tried any more", () => {
    const dropped: number[] = [];
    const tell = (messages: readonly number[]): void => void dropped.push(...messages);
    const parcel = new Parcel(pulled("a", "b", "c", "d"), [0, 2, 3], Infinity, 3, () => {}, tell);
    parcel.taken(1);
    expect(dropped).toEqual([]);
    parcel.lost(1, 1);
    expect(dropped).toEqual([2]);
    parcel.untaken(2, 1);
    expect(dropped).toEqual([2, 3]);
  });

  test("of all messages counts them as they are", () => {
    const { parcel, outcome } = parcelOf(["a", "b", "c"]);
    parcel.untaken(0, 3);
    expect(outcome.result).toEqual({ lost: [], untaken: [0, 1, 2] });
  });
});

describe("a draft", () => {
  test("is filled until the request is full, and says how far it came", () => {
    const { parcel } = parcelOf(["a", "b", "c", "d"]);
    const draft = new AckDraft(newRequest(3));
    expect(draft.fill(parcel, 1, 4)).toBe(4);
    expect(draft.fill(parcel, 0, 4)).toBe(0);
    expect(idsOf(draft)).toEqual(["b", "c", "d"]);
    const next = new AckDraft(newRequest(3));
    expect(next.fill(parcel, 0, 4)).toBe(3);
  });

  test("settles the parts of several parcels that it has", () => {
    const [one, two] = [parcelOf(["a", "b"]), parcelOf(["c", "d", "e"], [0, 2])];
    draftOf(one, two).untaken();
    expect(one.outcome.result).toEqual({ lost: [], untaken: [0, 1] });
    expect(two.outcome.result).toEqual({ lost: [], untaken: [0, 2] });
    const [three, four] = [parcelOf(["a"]), parcelOf(["b"])];
    draftOf(three, four).taken();
    expect([three.outcome.result, four.outcome.result]).toEqual([
      { lost: [], untaken: [] },
      { lost: [], untaken: [] },
    ]);
    const five = parcelOf(["a", "b"], [1]);
    draftOf(five).lost();
    expect(five.outcome.result).toEqual({ lost: [1], untaken: [] });
  });

  test("is worth a try as long as one of its parcels is", () => {
    const draft = draftOf(parcelOf(["a"], undefined, 100), parcelOf(["b"], undefined, 200));
    expect([99, 100, 199, 200].map((now) => draft.isWanted(now))).toEqual([true, true, true, false]);
  });
});

describe("halves", () => {
  const halvesOf = (draft: AckDraft): string[][] => draft.halves(newRequest).map((half) => idsOf(half));

  test("of one parcel have as many ids, the first one more", () => {
    expect(halvesOf(draftOf(parcelOf(["a", "b", "c", "d", "e"])))).toEqual([
      ["a", "b", "c"],
      ["d", "e"],
    ]);
    expect(halvesOf(draftOf(parcelOf(["a", "b"])))).toEqual([["a"], ["b"]]);
  });

  /** Of 1, 4 and 2 ids: the cut behind the first is 2.5 from the middle, that behind the second 1.5. */
  test("of several parcels are cut between them, nearest to the middle", () => {
    const draft = draftOf(parcelOf(["a"]), parcelOf(["b", "c", "d", "e"]), parcelOf(["f", "g"]));
    expect(halvesOf(draft)).toEqual([
      ["a", "b", "c", "d", "e"],
      ["f", "g"],
    ]);
  });

  test("settle the parcels they come from, each its own ids", () => {
    const [one, two] = [parcelOf(["a", "b", "c"], [0, 2]), parcelOf(["d", "e", "f"])];
    const draft = draftOf(one, two);
    draft.tries = 2;
    const [first, second] = draft.halves(newRequest);
    expect([first.tries, second.tries]).toEqual([2, 2]);
    first.taken();
    const [third, fourth] = second.halves(newRequest);
    third.lost();
    fourth.untaken();
    expect(one.outcome.result).toEqual({ lost: [], untaken: [] });
    expect(two.outcome.result).toEqual({ lost: [0, 1], untaken: [2] });
  });
});

describe("what is said of single ids", () => {
  test("settles each by itself; what may be tried again goes into another draft", () => {
    const [one, two] = [parcelOf(["a", "b", "c"]), parcelOf(["d", "e"])];
    const draft = draftOf(one, two);
    const failures = new Map<string, AckFailure>([
      ["a", "transient"],
      ["b", "permanent"],
      ["d", "transient"],
      ["not in it", "permanent"],
    ]);
    const later = new AckDraft(newRequest(), 1);
    const counts = draft.sort(failures, (id) => id.parcel === one.parcel && later.add(id));
    expect(counts).toEqual({ taken: 2, givenUp: 2 });
    expect(idsOf(later)).toEqual(["a"]);
    expect(two.outcome.result).toEqual({ lost: [], untaken: [0] });
    expect(one.outcome.result).toBeUndefined();
    later.taken();
    expect(one.outcome.result).toEqual({ lost: [1], untaken: [] });
  });

  test("ids that are collected for another try keep their places, side by side or not", () => {
    const { parcel, count, outcome } = parcelOf(["a", "b", "c", "d", "e"], [0, 1, 3, 4]);
    const draft = draftOf({ parcel, count });
    const later = new AckDraft(newRequest(), 1);
    const failures = new Map(["a", "b", "e"].map((id) => [id, "transient" as const]));
    expect(draft.sort(failures, (id) => later.add(id))).toEqual({ taken: 1, givenUp: 0 });
    expect(idsOf(later)).toEqual(["a", "b", "e"]);
    later.lost();
    expect(outcome.result).toEqual({ lost: [0, 1, 4], untaken: [] });
  });

  test("an id that does not fit any more is not in it", () => {
    const draft = draftOf(parcelOf(["a", "b"]));
    const full = new AckDraft(newRequest(1));
    const fitted: boolean[] = [];
    const failures = new Map(["a", "b"].map((id) => [id, "transient" as const]));
    draft.sort(failures, (id) => fitted.push(full.add(id)) > 0);
    expect(fitted).toEqual([true, false]);
    expect(idsOf(full)).toEqual(["a"]);
  });
});
