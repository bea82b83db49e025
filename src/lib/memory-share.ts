/**
 * The memory of a pipeline is dealt out beforehand: to the messages that are pulled, to the rows made of them, to the letters
 * made of those that become no row. So no part has to wait for another, and what the service may send never waits unread.
 */

/** Bytes for each part; together they are the limit of the pipeline. */
export interface MemoryShares {
  readonly messages: number;
  readonly rows: number;
  readonly letters: number;
}

/** @param maxBytes what the pipeline may hold in all */
export function sharesOf(maxBytes: number): MemoryShares {
  const rows = Math.floor(maxBytes / 4);
  const letters = Math.floor(maxBytes / 8);
  return { messages: maxBytes - rows - letters, rows, letters };
}

/** What one part holds of its share. One piece of work is always let through, however large: a share is overshot by it at most. */
export class MemoryShare {
  readonly #maxBytes: number;
  #bytes = 0;
  #eased = Promise.withResolvers<void>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Another piece of work may begin. */
  get hasRoom(): boolean {
    return this.#bytes < this.#maxBytes;
  }

  /**
   * Does a piece of work as soon as there is room.
   *
   * @param begin begins it, and tells how many bytes it takes until it is done
   */
  async take<T>(begin: () => { readonly bytes: number; readonly done: Promise<T> }): Promise<T> {
    while (!this.hasRoom) await this.#eased.promise;
    const { bytes, done } = begin();
    this.charge(bytes);
    try {
      return await done;
    } finally {
      this.discharge(bytes);
    }
  }

  charge(bytes: number): void {
    this.#bytes += bytes;
  }

  discharge(bytes: number): void {
    this.#bytes -= bytes;
    this.#eased.resolve();
    this.#eased = Promise.withResolvers();
  }
}
