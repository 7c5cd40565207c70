/** Places of the table; a power of two. The table takes eight bytes for each, whatever is asked. */
const SLOTS = 16_384

/**
 * Remembers for a short time what was asked for, so that only what is asked for twice gets in. Memory is fixed: a new key takes
 * the place of an older one. It keeps hashes, not keys, so a key may now and then pass for another; that only lets it in early.
 */
export class SecondAsk {
  readonly #windowMs: number
  readonly #hashes = new Uint32Array(SLOTS)
  /** When each was asked for, in ms modulo 2^32. */
  readonly #times = new Uint32Array(SLOTS)

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** Notes a key. True: it was asked for within the window before. `nowMs` of the monotonic clock. */
  ask(key: string, nowMs: number): boolean {
    const hash = hashOf(key)
    const slot = hash & (SLOTS - 1)
    const time = nowMs >>> 0
    const isKnown = this.#hashes[slot] === hash && (time - (this.#times[slot] ?? 0)) >>> 0 <= this.#windowMs
    this.#hashes[slot] = hash
    this.#times[slot] = time
    return isKnown
  }
}

/** FNV-1a, with a last mix so that its low bits depend on every character. Never 0, which an empty place holds. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  hash ^= hash >>> 15
  return hash >>> 0 || 1
}
