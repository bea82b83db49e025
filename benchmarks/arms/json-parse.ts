/** `JSON.parse` and nothing else: what a program pays before it has looked at a single value. */
import type { Arm } from "../arm.ts";
import type { Corpus } from "../corpus.ts";

/** Of strings that are there already. */
export function parseText({ parts }: Corpus): Arm {
  return new ParseArm(
    parts.map((part) => part.map(String)),
    (text) => JSON.parse(text),
  );
}

/** Of buffers, as they come from the network. */
export function parseBuffer({ parts }: Corpus): Arm {
  return new ParseArm(parts, (payload) => JSON.parse(payload.toString()));
}

class ParseArm<Payload> implements Arm {
  readonly #parts: readonly (readonly Payload[])[];
  readonly #parse: (payload: Payload) => unknown;
  /** The last result, so that none can be optimized away. */
  last: unknown;

  constructor(parts: readonly (readonly Payload[])[], parse: (payload: Payload) => unknown) {
    this.#parts = parts;
    this.#parse = parse;
  }

  run(part: number): void {
    for (const payload of this.#parts[part]!) this.last = this.#parse(payload);
  }

  rows(): undefined {
    return undefined;
  }

  json(count: number): readonly string[] {
    const payloads = this.#parts.flat().slice(0, count);
    return payloads.map((payload) => JSON.stringify(this.#parse(payload)));
  }
}
