import { entryOf } from './map-entries.ts'

/** Bounds of a `FairRing`. */
interface FairRingLimits {
  readonly maxItems: number
  /** Of all items together. */
  readonly maxWeight: number
}

interface Source<Item> {
  readonly items: { readonly item: Item; readonly weight: number }[]
  weight: number
}

/**
 * The last items of several sources. When it is full, the oldest item of the source with the greatest weight is dropped: a source that
 * adds a lot pushes out its own items, not those of others.
 */
export class FairRing<Item> {
  readonly #limits: FairRingLimits
  readonly #sources = new Map<string, Source<Item>>()
  #items = 0
  #weight = 0

  constructor(limits: FairRingLimits) {
    this.#limits = limits
  }

  add(source: string, item: Item, weight: number): void {
    const own = entryOf(this.#sources, source, (): Source<Item> => ({ items: [], weight: 0 }))
    own.items.push({ item, weight })
    own.weight += weight
    this.#items++
    this.#weight += weight
    while (this.#items > this.#limits.maxItems || this.#weight > this.#limits.maxWeight) this.#evict()
  }

  /** The items of these sources, each from the oldest to the newest. @param names undefined: all */
  *of(names: readonly string[] | undefined): Generator<Item, void, undefined> {
    const sources = names === undefined ? this.#sources.values() : names.map((name) => this.#sources.get(name))
    for (const source of sources) for (const { item } of source?.items ?? []) yield item
  }

  #evict(): void {
    let name = ''
    let largest: Source<Item> | undefined
    for (const [candidate, source] of this.#sources) {
      if (largest !== undefined && source.weight <= largest.weight) continue
      name = candidate
      largest = source
    }
    const weight = largest?.items.shift()?.weight ?? 0
    if (largest !== undefined) largest.weight -= weight
    this.#weight -= weight
    this.#items--
    if (largest?.items.length === 0) this.#sources.delete(name)
  }
}
