/** Slots of the table, a power of two. The table takes eight bytes for each. */
const SLOTS = 16_384

/**
 * Remembers for a short time which keys were requested, so that only those that are requested twice are stored. Memory is fixed:
 * a new key takes the slot of an older one. It holds hashes, not keys, so two keys may be confused; that only stores one early.
 */
export class RepeatedKeys {
  readonly #windowMs: number
  readonly #hashes = new Uint32Array(SLOTS)
  /** Time of the last request for each, in ms modulo 2^32. */
  readonly #times = new Uint32Array(SLOTS)

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** Notes a request for a key. True: there was one within the window before. `nowMs` of the monotonic clock. */
  note(key: string, nowMs: number): boolean {
    const hash = hashOf(key)
    const slot = hash & (SLOTS - 1)
    const time = nowMs >>> 0
    const isKnown = this.#hashes[slot] === hash && (time - (this.#times[slot] ?? 0)) >>> 0 <= this.#windowMs
    this.#hashes[slot] = hash
    this.#times[slot] = time
    return isKnown
  }
}

/** FNV-1a, with a last mix so that its low bits depend on every character. Never 0, which marks an empty slot. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  hash ^= hash >>> 15
  return hash >>> 0 || 1
}
