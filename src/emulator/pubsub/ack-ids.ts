/** Ack ids: `TAG-NUMBER`. The tag is the subscription's own; the number names one handing out of one message. */
import { invalidArgument, type RpcError } from "../rpc-error.ts";

const zero = 0x30;
const nine = 0x39;

export class AckIds {
  readonly #prefix: Buffer;

  /** @param tag unique among subscriptions, those of earlier servers included */
  constructor(tag: string) {
    this.#prefix = Buffer.from(`${tag}-`);
  }

  /** Length of an id in bytes. */
  length(ackNumber: number): number {
    return this.#prefix.length + digits(ackNumber);
  }

  /** Writes an id and returns the offset behind it. */
  write(ackNumber: number, buffer: Buffer, at: number): number {
    const first = at + this.#prefix.copy(buffer, at);
    const end = first + digits(ackNumber);
    let rest = ackNumber;
    for (let i = end - 1; i >= first; i--) {
      buffer[i] = zero + (rest % 10);
      rest = Math.floor(rest / 10);
    }
    return end;
  }

  /**
   * The number in the id that stands in `bytes[from, to)`.
   *
   * @throws RpcError INVALID_ARGUMENT for anything that is no id of this subscription
   */
  read(bytes: Buffer, from: number, to: number): number {
    const first = from + this.#prefix.length;
    if (first >= to) throw malformed();
    for (let i = from; i < first; i++) if (bytes[i] !== this.#prefix[i - from]) throw malformed();
    let number = 0;
    for (let i = first; i < to; i++) {
      const byte = bytes[i]!;
      if (byte < zero || byte > nine) throw malformed();
      number = number * 10 + byte - zero;
    }
    return number;
  }

  /** Reads many ids; `ranges` are start and end offsets in turn. */
  readAll(bytes: Buffer, ranges: readonly number[]): number[] {
    const numbers: number[] = [];
    for (let i = 0; i < ranges.length; i += 2) numbers.push(this.read(bytes, ranges[i]!, ranges[i + 1]!));
    return numbers;
  }
}

function digits(number: number): number {
  let count = 1;
  for (let power = 10; power <= number; power *= 10) count++;
  return count;
}

function malformed(): RpcError {
  return invalidArgument("The request has an ack ID that is none of this subscription's");
}
