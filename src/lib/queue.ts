/** A queue in a ring that grows: adding and taking cost the same however long it is. */
export class Queue<T> {
  #items: (T | undefined)[] = Array.from({ length: 16 });
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The item that `shift` would take. */
  get first(): T | undefined {
    return this.#items[this.#head];
  }

  push(item: T): void {
    this.#reserve();
    this.#items[this.#slot(this.#length++)] = item;
  }

  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head = this.#slot(1);
    this.#length--;
    return item;
  }

  /** Empties the queue and returns what was in it, in order. */
  takeAll(): T[] {
    const items = [...this];
    this.#items.fill(undefined);
    this.#length = 0;
    return items;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let i = 0; i < this.#length; i++) yield this.#items[this.#slot(i)]!;
  }

  /** Position in the ring of the item `offset` places behind the first. The ring's size is a power of two. */
  #slot(offset: number): number {
    return (this.#head + offset) & (this.#items.length - 1);
  }

  #reserve(): void {
    if (this.#length < this.#items.length) return;
    const items = [...this];
    this.#items = [...items, ...Array.from<undefined>({ length: items.length })];
    this.#head = 0;
  }
}
