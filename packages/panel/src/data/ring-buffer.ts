/** The last items of a sequence, a bounded number of them. */
export class RingBuffer<Item> {
  readonly #items: Item[] = []
  readonly #max: number
  #next = 0

  constructor(max: number) {
    this.#max = max
  }

  /** The new item takes the place of the oldest when all places are taken. */
  add(item: Item): void {
    this.#items[this.#next] = item
    this.#next = (this.#next + 1) % this.#max
  }

  newestFirst(): Item[] {
    return [...this.#items.slice(0, this.#next).reverse(), ...this.#items.slice(this.#next).reverse()]
  }
}
