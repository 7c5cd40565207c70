import { CacheError } from '../errors/errors.ts'
import { READ, type SharedScript, STORE } from './scripts.ts'
import type { SharedCommands } from './shared-cache.ts'

/** The scripts that render hosts run by way of the master, which alone is connected to Redis. */
const SCRIPTS = { read: READ, store: STORE } as const

/** A script on its way to the master. Its arguments come beside it, as bytes in a row. */
export interface RelayedScript {
  readonly script: keyof typeof SCRIPTS
  /** Without `redis.key_prefix`. */
  readonly keys: string[]
  /** Bytes of each argument. */
  readonly lengths: number[]
}

/** Words of the reply; the entry comes beside them. */
interface RelayedReply {
  readonly words: readonly string[]
  readonly entry: Buffer | undefined
}

/** Sends a script to the master. Rejects if it cannot run it. */
export type Relay = (call: RelayedScript, bytes: Uint8Array) => Promise<RelayedReply>

/** After a failure nothing is sent for this time: the master knows better when Redis is back. */
const PAUSE_MS = 1_000
/** Code of a site chooses how much data it looks up, and the master serves all sites. */
const MAX_PER_SECOND = 1_000
const ENTRY_KEY = /^\{([^{}]*)\}:isr:(?:versions|(?:entry|lock):[\w-]+)$/
const MAX_KEYS = 3
const MAX_ARGUMENTS = 16

/** Redis as a process sees it that has no connection of its own. */
export class RelayedCommands implements SharedCommands {
  readonly #relay: Relay
  readonly #now: () => number
  #pausedUntil = 0
  #countedFrom = 0
  #count = 0

  /** @param now monotonic milliseconds */
  constructor(relay: Relay, now: () => number) {
    this.#relay = relay
    this.#now = now
  }

  get isUsable(): boolean {
    const now = this.#now()
    if (now - this.#countedFrom >= 1_000) {
      this.#countedFrom = now
      this.#count = 0
    }
    return now >= this.#pausedUntil && this.#count < MAX_PER_SECOND
  }

  async script(script: SharedScript, keys: readonly string[], args: readonly (string | Buffer)[]): Promise<unknown> {
    const parts = args.map((arg) => (typeof arg === 'string' ? Buffer.from(arg) : arg))
    const call: RelayedScript = {
      script: script === STORE ? 'store' : 'read',
      keys: [...keys],
      lengths: parts.map(({ byteLength }) => byteLength),
    }
    this.#count++
    try {
      const { words, entry } = await this.#relay(call, Buffer.concat(parts))
      return entry === undefined ? words : [...words, entry]
    } catch (error) {
      this.#pausedUntil = this.#now() + PAUSE_MS
      throw error
    }
  }
}

/**
 * Runs a script of a render host in the master.
 * @param mayUse true for the labels whose entries the host may read and write
 * @throws CACHE_RELAY for a call that no host makes, and the errors of Redis
 */
export async function runRelayed(
  commands: SharedCommands,
  prefix: string,
  { script, keys, lengths }: RelayedScript,
  bytes: Uint8Array,
  mayUse: (label: string) => boolean,
): Promise<RelayedReply> {
  const isOwn = keys.every((key) => {
    const label = ENTRY_KEY.exec(key)?.[1]
    return label !== undefined && mayUse(label)
  })
  const isWhole = lengths.every((length) => Number.isSafeInteger(length) && length >= 0)
  const total = lengths.reduce((sum, length) => sum + length, 0)
  if (!isOwn || keys.length > MAX_KEYS || lengths.length > MAX_ARGUMENTS || !isWhole || total !== bytes.byteLength) {
    throw new CacheError('CACHE_RELAY', 'refused a script of a render host: it is not about data of its sites')
  }
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let end = 0
  const args = lengths.map((length) => {
    end += length
    return all.subarray(end - length, end)
  })
  const reply = await commands.script(
    SCRIPTS[script],
    keys.map((key) => prefix + key),
    args,
  )
  const parts: unknown[] = Array.isArray(reply) ? reply : [reply]
  const [word, value] = parts
  return String(word) === 'hit' && Buffer.isBuffer(value)
    ? { words: ['hit'], entry: value }
    : { words: parts.map(String), entry: undefined }
}
