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
   * Reads many ids; `ranges` are start and end offsets in turn.
   *
   * @param strange what to take an id for that is none of this subscription's; absent: the request is refused
   */
  readAll(bytes: Buffer, ranges: readonly number[], strange?: number): number[] {
    const numbers: number[] = [];
    for (let i = 0; i < ranges.length; i += 2) {
      const number = this.#number(bytes, ranges[i]!, ranges[i + 1]!) ?? strange;
      if (number === undefined) throw malformed();
      numbers.push(number);
    }
    return numbers;
  }

  /** The number in the id that stands in `bytes[from, to)`; undefined for anything that is no id of this subscription. */
  #number(bytes: Buffer, from: number, to: number): number | undefined {
    const first = from + this.#prefix.length;
    if (first >= to) return undefined;
    for (let i = from; i < first; i++) if (bytes[i] !== this.#prefix[i - from]) return undefined;
    let number = 0;
    for (let i = first; i < to; i++) {
      const byte = bytes[i]!;
      if (byte < zero || byte > nine) return undefined;
      number = number * 10 + byte - zero;
    }
    return number;
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
