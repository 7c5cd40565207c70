/** An item of the order, which owns its `place`: -1 while the item is not in it. */
interface Weighed {
  readonly level: number
  place: number
}

/** Knows the item with the highest level: a binary heap. Changes cost the logarithm of the number of items. */
export class Heaviest<Item extends Weighed> {
  readonly #items: Item[] = []

  get top(): Item | undefined {
    return this.#items[0]
  }

  /** Takes an item in, or notes that its level has changed. */
  update(item: Item): void {
    if (item.place === -1) item.place = this.#items.push(item) - 1
    this.#rise(item)
    this.#sink(item)
  }

  remove(item: Item): void {
    const { place } = item
    if (place === -1) return
    const last = this.#items.pop()
    item.place = -1
    if (last === undefined || last === item) return
    this.#put(last, place)
    this.update(last)
  }

  #rise(item: Item): void {
    for (;;) {
      const parent = item.place === 0 ? undefined : this.#items[(item.place - 1) >> 1]
      if (parent === undefined || parent.level >= item.level) return
      this.#swap(item, parent)
    }
  }

  #sink(item: Item): void {
    for (;;) {
      const left = this.#items[2 * item.place + 1]
      const right = this.#items[2 * item.place + 2]
      const child = left !== undefined && right !== undefined && right.level > left.level ? right : left
      if (child === undefined || child.level <= item.level) return
      this.#swap(item, child)
    }
  }

  #swap(one: Item, other: Item): void {
    const { place } = one
    this.#put(one, other.place)
    this.#put(other, place)
  }

  #put(item: Item, place: number): void {
    this.#items[place] = item
    item.place = place
  }
}
