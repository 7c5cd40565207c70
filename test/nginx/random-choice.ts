/** Choices that a source of numbers from 0 to 1 decides. */
export class Choice {
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  /** A whole number from 0 to `end`, without `end`. */
  below(end: number): number {
    return Math.floor(this.#random() * end)
  }

  /** True in so many of a hundred cases. */
  chance(percent: number): boolean {
    return this.below(100) < percent
  }

  of<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0]
  }

  /** Up to so many different items, in a random order. */
  some<Item>(items: readonly Item[], most: number): Item[] {
    const left = [...items]
    const taken: Item[] = []
    for (let count = this.below(most + 1); count > 0 && left.length > 0; count--) {
      taken.push(...left.splice(this.below(left.length), 1))
    }
    return taken
  }
}
