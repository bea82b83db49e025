/** What has arrived and waits for its reader, in order. One reader at a time. */
export class Arrivals<T> {
  #items: T[] = [];
  #ended = false;
  #wake = (): void => {};

  push(item: T): void {
    this.#items.push(item);
    this.#wake();
  }

  /** The reader gets nothing more; what is here stays for `takeRest`. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** The next item, as soon as there is one; undefined after the end. */
  async next(): Promise<T | undefined> {
    while (!this.#ended && this.#items.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#ended ? undefined : this.#items.shift();
  }

  /** Takes out everything that no reader got. */
  takeRest(): T[] {
    const rest = this.#items;
    this.#items = [];
    return rest;
  }
}
