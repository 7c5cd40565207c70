import type { EntryFacts } from '../entries/entry.ts'
import { decodeFacts, type EntryHead, factsOf, type PackedFacts, unpackFacts } from './entry-codec.ts'
import { idOf } from './index-keys.ts'

/** How many entries are remembered: past them all are forgotten. */
const MAX_ENTRIES = 256
/** Longer facts are not remembered. */
const MAX_FACTS_BYTES = 4096

interface Known {
  readonly id: Buffer
  readonly bytes: Buffer
  readonly packed: PackedFacts
}

/**
 * Decoded metadata of recently read entries: an entry that is read often is not decoded each time. A cached
 * decoding is used only if the record still has the same bytes.
 */
export class RecentFacts {
  readonly #known = new Map<string, Known>()

  /** Location of an entry. Not to be changed. */
  idOf(key: string): Buffer {
    return this.#known.get(key)?.id ?? idOf(key)
  }

  /**
   * The facts of the entry of a key. Undefined: the record is that of another key. Their lists are frozen, and the same ones as long as
   * the entry is remembered.
   */
  read(key: string, head: EntryHead, record: Buffer): EntryFacts | undefined {
    const known = this.#known.get(key)
    if (known !== undefined && isSame(known.bytes, record, head.factsBytes)) return factsOf(head, known.packed)
    const packed = unpackFacts(head, record)
    if (packed[0] !== key) return undefined
    if (head.factsBytes <= MAX_FACTS_BYTES) this.#remember(key, packed, record.subarray(0, head.factsBytes))
    return factsOf(head, packed)
  }

  #remember(key: string, packed: PackedFacts, bytes: Buffer): void {
    if (this.#known.size >= MAX_ENTRIES) this.#known.clear()
    for (const part of packed) if (Array.isArray(part)) Object.freeze(part)
    this.#known.set(key, { id: idOf(key), bytes: Buffer.from(bytes), packed })
  }
}

/** The decoded facts of the entry of a key. Undefined: the record is that of another key. */
export function readFacts(key: string, head: EntryHead, record: Buffer): EntryFacts | undefined {
  const found = decodeFacts(head, record)
  return found.key === key ? found.facts : undefined
}

function isSame(known: Buffer, record: Buffer, length: number): boolean {
  return known.byteLength === length && record.byteLength >= length && record.subarray(0, length).equals(known)
}
