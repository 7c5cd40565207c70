const DEFAULT_WEIGHT = 1

/** An entry that takes room. Its place among the others belongs to the room: entries are linked, so that a hit looks nothing up. */
export interface Roomed<Entry extends Roomed<Entry>> {
  readonly label: string
  /** Memory that it takes, an estimate. */
  readonly bytes: number
  /** Undefined: it lies nowhere. */
  shelf: LabelShelf<Entry> | undefined
  /** The entries of its label that were used just before it, and just after. */
  older: Entry | undefined
  newer: Entry | undefined
}

/** The entries of one label in the order of their last use, and how much the label has for its weight. */
export interface LabelShelf<Entry> {
  readonly label: string
  oldest: Entry | undefined
  newest: Entry | undefined
  bytes: number
  level: number
  place: number
}

/**
 * Bounds the memory of entries. When it is exceeded the label that has most for its weight loses its least recently
 * used entry, so a label within its share (the bound, divided by the weights of all labels with entries) loses nothing to others.
 */
export class L0Room<Entry extends Roomed<Entry>> {
  readonly #maxBytes: number
  readonly #onEvicted: (entry: Entry) => void
  readonly #shelves = new Map<string, LabelShelf<Entry>>()
  readonly #heaviest = new Heaviest<LabelShelf<Entry>>()
  #weights: ReadonlyMap<string, number> = new Map()
  #size = 0
  #bytes = 0

  constructor(maxBytes: number, onEvicted: (entry: Entry) => void) {
    this.#maxBytes = maxBytes
    this.#onEvicted = onEvicted
  }

  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Takes an entry in. False: it has no room, not even for a moment. */
  add(entry: Entry): boolean {
    if (entry.bytes > this.#maxBytes) return false
    const shelf = this.#shelfOf(entry.label)
    entry.shelf = shelf
    append(shelf, entry)
    shelf.bytes += entry.bytes
    this.#size++
    this.#bytes += entry.bytes
    this.#weigh(shelf)
    while (this.#bytes > this.#maxBytes) {
      const evicted = this.#heaviest.top?.oldest
      if (evicted === undefined) break
      this.delete(evicted)
      this.#onEvicted(evicted)
    }
    return entry.shelf !== undefined
  }

  /** Makes an entry the last of its label to go. */
  touch(entry: Entry): void {
    const { shelf } = entry
    if (shelf === undefined || shelf.newest === entry) return
    unlink(shelf, entry)
    append(shelf, entry)
  }

  delete(entry: Entry): void {
    const { shelf } = entry
    if (shelf === undefined) return
    unlink(shelf, entry)
    entry.shelf = undefined
    shelf.bytes -= entry.bytes
    this.#size--
    this.#bytes -= entry.bytes
    this.#weigh(shelf)
  }

  *values(): Iterable<Entry> {
    for (const { oldest } of this.#shelves.values()) {
      for (let entry = oldest; entry !== undefined; entry = entry.newer) yield entry
    }
  }

  /** Sets the weights of labels; those that are not named have the usual one. */
  setWeights(weights: ReadonlyMap<string, number>): void {
    this.#weights = weights
    for (const shelf of this.#shelves.values()) this.#weigh(shelf)
  }

  #shelfOf(label: string): LabelShelf<Entry> {
    const known = this.#shelves.get(label)
    if (known !== undefined) return known
    const shelf: LabelShelf<Entry> = { label, oldest: undefined, newest: undefined, bytes: 0, level: 0, place: -1 }
    this.#shelves.set(label, shelf)
    return shelf
  }

  /** The entries of a label have changed, or its weight. */
  #weigh(shelf: LabelShelf<Entry>): void {
    if (shelf.oldest === undefined) {
      this.#heaviest.remove(shelf)
      this.#shelves.delete(shelf.label)
      return
    }
    shelf.level = shelf.bytes / (this.#weights.get(shelf.label) ?? DEFAULT_WEIGHT)
    this.#heaviest.update(shelf)
  }
}

function append<Entry extends Roomed<Entry>>(shelf: LabelShelf<Entry>, entry: Entry): void {
  const { newest } = shelf
  entry.older = newest
  entry.newer = undefined
  if (newest === undefined) shelf.oldest = entry
  else newest.newer = entry
  shelf.newest = entry
}

function unlink<Entry extends Roomed<Entry>>(shelf: LabelShelf<Entry>, { older, newer }: Entry): void {
  if (older === undefined) shelf.oldest = newer
  else older.newer = newer
  if (newer === undefined) shelf.newest = older
  else newer.older = older
}

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
