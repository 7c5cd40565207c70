/** A text that is looked for, and the one that takes its place. */
interface Replacement {
  /** Lower case (A to Z alone); not empty. */
  readonly needle: Buffer
  readonly text: Buffer
}

const EMPTY = Buffer.alloc(0)

/** Changes A to Z alone: the bytes of other characters stay. */
export function lowerCaseBytes(bytes: Uint8Array): Buffer {
  const lower = Buffer.from(bytes)
  for (let at = 0; at < lower.length; at++) {
    const byte = lower[at] ?? 0
    if (byte >= 0x41 && byte <= 0x5a) lower[at] = byte + 0x20
  }
  return lower
}

/**
 * Replaces texts in a body that comes in pieces, without regard to case: the leftmost first, of several at one place the one that
 * is written first. Holds back fewer bytes than the longest text has.
 */
export class Replacer {
  readonly #isOnce: boolean
  #active: readonly Replacement[]
  #held = EMPTY

  /** @param isOnce true if each text is replaced once */
  constructor(replacements: readonly Replacement[], isOnce: boolean) {
    this.#active = replacements
    this.#isOnce = isOnce
  }

  /** The changed bytes that are certain. They are no part of `chunk`. */
  push(chunk: Uint8Array): Buffer {
    return this.#run(Buffer.concat([this.#held, chunk]), false)
  }

  /** The rest. */
  end(): Buffer {
    return this.#run(this.#held, true)
  }

  #run(bytes: Buffer, isLast: boolean): Buffer {
    this.#held = EMPTY
    if (this.#active.length === 0) return bytes
    const longest = Math.max(...this.#active.map(({ needle }) => needle.length))
    // A match that begins behind this may go on in the next piece.
    const end = isLast ? bytes.length : Math.max(0, bytes.length - longest + 1)
    const pieces: Buffer[] = []
    const lower = lowerCaseBytes(bytes)
    const places = new Map(this.#active.map((one) => [one, -1]))
    let from = 0
    for (;;) {
      const next = nextOf(lower, from, places)
      if (next === undefined || next.at >= end) break
      pieces.push(bytes.subarray(from, next.at), next.found.text)
      from = next.at + next.found.needle.length
      if (this.#isOnce) places.delete(next.found)
    }
    if (this.#isOnce) this.#active = [...places.keys()]
    const kept = Math.max(from, places.size === 0 ? bytes.length : end)
    this.#held = Buffer.from(bytes.subarray(kept))
    return Buffer.concat([...pieces, bytes.subarray(from, kept)])
  }
}

/** @param places where each was found last; -1: it was not looked for */
function nextOf(lower: Buffer, from: number, places: Map<Replacement, number>): { found: Replacement; at: number } | undefined {
  let best: { found: Replacement; at: number } | undefined
  for (const [one, known] of places) {
    const at = known >= from ? known : placeOf(lower, one.needle, from)
    places.set(one, at)
    if (at !== Number.POSITIVE_INFINITY && (best === undefined || at < best.at)) best = { found: one, at }
  }
  return best
}

function placeOf(lower: Buffer, needle: Buffer, from: number): number {
  const at = lower.indexOf(needle, from)
  return at === -1 ? Number.POSITIVE_INFINITY : at
}
