import type { Counts } from './counts.ts'
import type { Databases } from './databases.ts'
import type { EntryHead } from './entry-codec.ts'
import {
  DEFAULT_WEIGHT,
  type Dimension,
  highest,
  levelOf,
  newUsage,
  readNumber,
  readUsage,
  readUsages,
  type Usage,
  writeNumber,
  writeUsage,
} from './usage.ts'

/** Entries of labels that the configuration does not name any more are evicted before all others. */
const GONE_WEIGHT = 0.01

/** A usage that a transaction has changed, or is about to. */
interface Held {
  readonly usage: Usage
  /** As it is stored; undefined: it is not. */
  readonly stored: Usage | undefined
}

/**
 * The usage of all labels inside one write transaction. The share of a label is the bound of the store, divided by the weights of all
 * labels with entries. The label that has most for its weight is never within its share, so evicting from it protects all that are, and a
 * label can use room that no other one needs.
 */
export class Shares {
  readonly #databases: Databases
  readonly #counts: Counts
  readonly #held = new Map<number, Held>()
  /** Labels that have their first entry in this transaction. */
  readonly #created = new Map<string, number>()
  /** Of the labels that are not held, one with the highest rank; null: there is none. */
  readonly #highest = new Map<Dimension, Usage | null>()

  constructor(databases: Databases, counts: Counts) {
    this.#databases = databases
    this.#counts = counts
  }

  /** The number of a label, which gets one with its first entry. */
  numberOf(label: string): number {
    const { labelNumbers } = this.#databases
    const known = labelNumbers.get(label) ?? this.#created.get(label)
    if (known !== undefined) return known
    const stored = readNumber(this.#databases, label)
    if (stored !== undefined) {
      labelNumbers.set(label, stored)
      return stored
    }
    const usage = newUsage(++this.#counts.lastLabel, label)
    writeNumber(this.#databases, usage)
    // Not remembered beyond this transaction: it may fail.
    this.#created.set(label, usage.number)
    this.#held.set(usage.number, { usage, stored: undefined })
    return usage.number
  }

  /** Counts an entry of this head in (1) or out (-1). */
  count({ labelNumber, isQueryKeyed, isNewcomer, recordBytes, fileBytes }: EntryHead, sign: 1 | -1): void {
    const usage = this.#usageOf(labelNumber)
    const bytes = sign * (recordBytes + fileBytes)
    usage.entries += sign
    usage.bytes += bytes
    if (isQueryKeyed) {
      usage.queryEntries += sign
      usage.queryBytes += bytes
    } else if (isNewcomer) {
      usage.newEntries += sign
      usage.newBytes += bytes
    }
  }

  countEvicted({ labelNumber }: EntryHead): void {
    this.#usageOf(labelNumber).evictions++
  }

  /** The label from which to evict; undefined: there are no entries. */
  overuser(dimension: Dimension): Readonly<Usage> | undefined {
    let found = this.#highestOfOthers(dimension)
    for (const { usage } of this.#held.values()) {
      if (usage[dimension] > 0 && (found === null || levelOf(usage, dimension) >= levelOf(found, dimension))) found = usage
    }
    return found ?? undefined
  }

  /** Sets the weights of labels; those that are not named are gone. */
  setWeights(weights: ReadonlyMap<string, number>): void {
    const unknown = new Map(weights)
    for (const { number, label, weight } of readUsages(this.#databases)) {
      const wanted = weights.get(label) ?? GONE_WEIGHT
      if (weight !== wanted) this.#usageOf(number).weight = wanted
      unknown.delete(label)
    }
    for (const [label, weight] of unknown) {
      if (weight !== DEFAULT_WEIGHT) this.#usageOf(this.numberOf(label)).weight = weight
    }
  }

  /** Writes the changes; at the end of the transaction. */
  write(): void {
    for (const { usage, stored } of this.#held.values()) writeUsage(this.#databases, usage, stored)
  }

  #usageOf(number: number): Usage {
    const held = this.#held.get(number)
    if (held !== undefined) return held.usage
    const stored = readUsage(this.#databases, number) ?? newUsage(number, '')
    const usage = { ...stored }
    this.#held.set(number, { usage, stored })
    for (const [dimension, other] of this.#highest) if (other?.number === number) this.#highest.delete(dimension)
    return usage
  }

  #highestOfOthers(dimension: Dimension): Usage | null {
    const known = this.#highest.get(dimension)
    if (known !== undefined) return known
    const number = highest(this.#databases, dimension, (one) => !this.#held.has(one))
    const found = (number === undefined ? undefined : readUsage(this.#databases, number)) ?? null
    this.#highest.set(dimension, found)
    return found
  }
}
