import { randomInt } from 'node:crypto'
import type { ByteReader, ByteWriter } from './byte-codec.ts'

/** Bounds of a `HeavyHitters`. */
interface HeavyHittersBounds {
  /** Names that are watched. */
  readonly maxNames: number
  /** Longer names are cut. */
  readonly maxChars: number
}

interface Watched {
  /** May be too high by `error`. */
  count: number
  error: number
}

/** A name with the number of times that it came, at least. */
interface TopName {
  readonly name: string
  readonly count: number
}

/** Cells of the filter, a power of two. */
const CELLS = 1_024
/** Not known to clients, so that none can make names that share a cell. */
const SEED = randomInt(2 ** 32)

/**
 * Finds the most frequent names of a stream in fixed memory: filtered space saving (Homem and Carvalho, 2010). A name takes the place of the
 * rarest watched one only after as many requests as that has: until then, only a cell of the filter counts it, which about a
 * thousandth of all other names share. Names that come once, however many, thus do not push out a name with more than a thousandth of
 * the requests.
 */
export class HeavyHitters {
  readonly #maxNames: number
  readonly #maxChars: number
  readonly #watched = new Map<string, Watched>()
  /** Counts of names that are not watched; undefined: there are none. */
  #cells: Float64Array | undefined
  /** No watched name has less. */
  #least = 0

  constructor({ maxNames, maxChars }: HeavyHittersBounds) {
    this.#maxNames = maxNames
    this.#maxChars = maxChars
  }

  /** Names that are watched. */
  get size(): number {
    return this.#watched.size
  }

  add(given: string, times: number): void {
    const name = given.length > this.#maxChars ? given.slice(0, this.#maxChars) : given
    const known = this.#watched.get(name)
    if (known !== undefined) known.count += times
    else if (this.#watched.size < this.#maxNames) this.#watch(name, times, 0)
    else this.#addRare(name, times)
  }

  /** Adds the names that another one watches. */
  addAll(other: HeavyHitters): void {
    for (const { name, count } of other.top(other.size)) if (count > 0) this.add(name, count)
  }

  /** The most frequent names, with counts that are not too high. */
  top(maxNames: number): TopName[] {
    const names = Array.from(this.#watched, ([name, { count, error }]) => ({ name, count: count - error }))
    return names.sort((one, other) => other.count - one.count).slice(0, maxNames)
  }

  clear(): void {
    this.#watched.clear()
    this.#cells = undefined
    this.#least = 0
  }

  /** Writes the most frequent names. */
  encode(writer: ByteWriter, maxNames: number): void {
    const top = this.top(maxNames)
    writer.number(top.length)
    for (const { name, count } of top) {
      writer.text(name)
      writer.number(count)
    }
  }

  /** Adds encoded names. */
  addEncoded(reader: ByteReader): void {
    for (let names = reader.number(); names > 0; names--) this.add(reader.text(), reader.number())
  }

  #addRare(name: string, times: number): void {
    this.#cells ??= new Float64Array(CELLS)
    const cell = hashOf(name) & (CELLS - 1)
    const before = this.#cells[cell] as number
    // `#least` may be out of date, since watched names go on counting.
    const rarest = before + times > this.#least ? this.#findRarest() : undefined
    if (rarest === undefined || before + times <= this.#least) {
      this.#cells[cell] = before + times
      return
    }
    this.#watched.delete(rarest)
    this.#cells[hashOf(rarest) & (CELLS - 1)] = this.#least
    this.#watch(name, before + times, before)
  }

  #watch(name: string, count: number, error: number): void {
    // A copy: a part of a text keeps the whole text in memory.
    this.#watched.set(Buffer.from(name).toString(), { count, error })
  }

  /** Sets `#least`. */
  #findRarest(): string | undefined {
    let rarest: string | undefined
    let least = Number.POSITIVE_INFINITY
    for (const [name, { count }] of this.#watched) {
      if (count >= least) continue
      least = count
      rarest = name
    }
    this.#least = least
    return rarest
  }
}

/** FNV-1a with a seed, and a last mix so that its low bits depend on every character. */
function hashOf(name: string): number {
  let hash = 0x811c9dc5 ^ SEED
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
