import { randomFillSync } from 'node:crypto'

const HEX = Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, '0'))
/** Random bytes are fetched for this many ids at once: one call into the system's generator costs more than an id. */
const IDS_PER_REFILL = 128
const RANDOM_BYTES = 10

/**
 * Makes request ids: UUID version 7 (RFC 9562 section 5.7), so that ids sort by time. Within one millisecond and one
 * generator they are unordered; their 74 random bits keep them apart over all processes.
 */
export function createRequestIds(now: () => number = Date.now): () => string {
  const pool = new Uint8Array(IDS_PER_REFILL * RANDOM_BYTES)
  let offset = pool.length
  let lastMs = -1
  let prefix = ''
  const hex = (index: number): string => HEX[pool[offset + index] as number] as string

  return () => {
    const ms = now()
    if (ms !== lastMs) {
      lastMs = ms
      const text = ms.toString(16).padStart(12, '0')
      prefix = `${text.slice(0, 8)}-${text.slice(8)}-`
    }
    if (offset === pool.length) {
      randomFillSync(pool)
      offset = 0
    }
    pool[offset] = 0x70 | ((pool[offset] as number) & 0x0f)
    pool[offset + 2] = 0x80 | ((pool[offset + 2] as number) & 0x3f)
    const id = `${prefix}${hex(0)}${hex(1)}-${hex(2)}${hex(3)}-${hex(4)}${hex(5)}${hex(6)}${hex(7)}${hex(8)}${hex(9)}`
    offset += RANDOM_BYTES
    return id
  }
}
