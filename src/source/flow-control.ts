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
  /** Streams that wait to be opened again. */
  readonly #beginnings = new Set<() => void>();

  constructor(limits: FlowLimits) {
    this.#limits = limits;
  }

  get messages(): number {
    return this.#messages;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The limits are reached: nothing is read before something is settled. */
  get isFull(): boolean {
    const { maxOutstandingMessages, maxOutstandingBytes } = this.#limits;
    return this.#messages >= maxOutstandingMessages || this.#bytes >= maxOutstandingBytes;
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

  /**
   * Resolves when at most half of what may be held is held, or when `signal` is aborted. To the service every stream has a
   * window of its own: what it sends into one while much is held from another would wait unread until its leases end.
   */
  whenHalfEmpty(signal: AbortSignal): Promise<void> {
    if (this.#isHalfEmpty || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const begin = (): void => {
        this.#beginnings.delete(begin);
        signal.removeEventListener("abort", begin);
        resolve();
      };
      this.#beginnings.add(begin);
      signal.addEventListener("abort", begin);
    });
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
    return this.#lifted || (!this.#shut && !this.isFull);
  }

  get #isHalfEmpty(): boolean {
    const { maxOutstandingMessages, maxOutstandingBytes } = this.#limits;
    return this.#lifted || (2 * this.#messages <= maxOutstandingMessages && 2 * this.#bytes <= maxOutstandingBytes);
  }

  #release(): void {
    if (this.#isHalfEmpty) for (const begin of this.#beginnings) begin();
    for (const read of this.#waiting) {
      if (!this.#hasRoom) return;
      this.#waiting.delete(read);
      read();
    }
  }
}
