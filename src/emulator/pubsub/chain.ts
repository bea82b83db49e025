/** A doubly linked list whose items carry the links, so that an item leaves it in constant time. */

/** An item is in one chain at most. */
export interface Chained {
  chain: Chain<Chained> | undefined;
  previous: Chained | undefined;
  next: Chained | undefined;
}

export class Chain<Item extends Chained> {
  #first: Chained | undefined;
  #last: Chained | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get first(): Item | undefined {
    return this.#first as Item | undefined;
  }

  push(item: Item): void {
    item.chain = this;
    item.previous = this.#last;
    item.next = undefined;
    if (this.#last) this.#last.next = item;
    else this.#first = item;
    this.#last = item;
    this.#length++;
  }

  unshift(item: Item): void {
    item.chain = this;
    item.previous = undefined;
    item.next = this.#first;
    if (this.#first) this.#first.previous = item;
    else this.#last = item;
    this.#first = item;
    this.#length++;
  }

  /** Takes the first item out. */
  shift(): Item | undefined {
    const first = this.first;
    if (first) this.remove(first);
    return first;
  }

  /** Takes out an item of this chain. */
  remove(item: Chained): void {
    if (item.previous) item.previous.next = item.next;
    else this.#first = item.next;
    if (item.next) item.next.previous = item.previous;
    else this.#last = item.previous;
    item.chain = undefined;
    item.previous = undefined;
    item.next = undefined;
    this.#length--;
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (let item = this.#first; item; item = item.next) yield item as Item;
  }
}

/** Takes an item out of whatever chain it is in. */
export function unchain(item: Chained): void {
  item.chain?.remove(item);
}
