/** How much may be held at a time, over all streams: a gate before the next read of any of them. */

export interface FlowLimits {
  readonly maxOutstandingMessages: number;
  readonly maxOutstandingBytes: number;
}

export class FlowControl {
  readonly #limits: FlowLimits;
  #messages = 0;
  #bytes = 0;
  #shut = true;
  #lifted = false;
  /** Reads that wait for room, in the order in which they came. */
  readonly #waiting = new Set<() => void>();

  constructor(limits: FlowLimits) {
    this.#limits = limits;
  }

  get messages(): number {
    return this.#messages;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Calls `read` as soon as there is room. What it brings may overshoot the limits: it is counted all the same.
   *
   * @returns takes the wish back
   */
  whenOpen(read: () => void): () => void {
    if (this.#hasRoom) read();
    else this.#waiting.add(read);
    return () => this.#waiting.delete(read);
  }

  add(messages: number, bytes: number): void {
    this.#messages += messages;
    this.#bytes += bytes;
  }

  remove(messages: number, bytes: number): void {
    this.#messages -= messages;
    this.#bytes -= bytes;
    this.#release();
  }

  /** Nothing is let through before this. */
  open(): void {
    this.#shut = false;
    this.#release();
  }

  /** Lets everything through from now on: what still arrives is not kept. */
  lift(): void {
    this.#lifted = true;
    this.#release();
  }

  get #hasRoom(): boolean {
    if (this.#lifted) return true;
    const { maxOutstandingMessages, maxOutstandingBytes } = this.#limits;
    return !this.#shut && this.#messages < maxOutstandingMessages && this.#bytes < maxOutstandingBytes;
  }

  #release(): void {
    for (const read of this.#waiting) {
      if (!this.#hasRoom) return;
      this.#waiting.delete(read);
      read();
    }
  }
}
