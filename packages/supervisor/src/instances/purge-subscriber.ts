import { EVERYTHING, type PurgeOrder } from '@svc/cache'
import { asError, type Clock, replaceFile } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import type { InstanceRedis, WaitingConnection } from './instance-redis.ts'
import { streamKey } from './purge-publisher.ts'

interface PurgeSubscriberOptions {
  readonly redis: InstanceRedis
  readonly prefix: string
  /** `scaling.instance_id` */
  readonly self: string
  /** Keeps the last order that was carried out. */
  readonly file: string
  /** Id in that file; undefined: there is none. */
  readonly last: string | undefined
  /** Carries out a purge of another instance. Rejects if a store failed: it is in force even then. */
  readonly purge: (order: PurgeOrder) => Promise<unknown>
  readonly confirm: (id: string, from: string) => Promise<void>
  /** Place of the last purge that this instance has sent. */
  readonly lastSent: () => string | undefined
  /** Makes the entries of the shared cache old. Rejects if Redis is away. */
  readonly emptySharedCache: () => Promise<void>
  readonly clock: Pick<Clock, 'after'>
  readonly logger: Logger
}

/** An order of the stream. */
interface StreamEntry {
  /** Its place in the stream. */
  readonly at: string
  readonly id: string
  readonly from: string
  /** undefined: it only marks the beginning of a stream. */
  readonly order: PurgeOrder | undefined
}

const BLOCK_MS = 2_000
const BATCH = 100
const RETRY_MS = 250
/** How often the place in the stream is saved at most. */
const SAVE_MS = 1_000

/** Reads the purges of the other instances, and carries them out. */
export class PurgeSubscriber {
  readonly #options: PurgeSubscriberOptions
  #last: string | undefined
  #connection: WaitingConnection | undefined
  #cancelRetry: (() => void) | undefined
  #cancelSave: (() => void) | undefined
  #isClosed = false

  constructor(options: PurgeSubscriberOptions) {
    this.#options = options
    this.#last = options.last
  }

  /** Carries out the purges that came while the instance was away, and goes on reading. Resolves when it is up to date, or cannot be. */
  async start(): Promise<void> {
    try {
      await this.#connect()
      await this.#read(undefined)
    } catch (error) {
      this.#lost(error)
      return
    }
    void this.#follow()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelRetry?.()
    this.#connection?.close()
    if (this.#cancelSave !== undefined) await this.#save()
  }

  async #follow(): Promise<void> {
    try {
      if (this.#connection === undefined) await this.#connect()
      while (!this.#isClosed) await this.#read(BLOCK_MS)
    } catch (error) {
      this.#lost(error)
    }
  }

  #lost(error: unknown): void {
    this.#connection?.close()
    this.#connection = undefined
    if (this.#isClosed) return
    this.#options.logger.debug({ err: asError(error) }, 'lost the stream of purges')
    this.#cancelRetry = this.#options.clock.after(RETRY_MS, () => void this.#follow())
  }

  /** Connects, and drops the caches if orders were missed. */
  async #connect(): Promise<void> {
    const { redis, prefix, purge, logger, self, lastSent, emptySharedCache } = this.#options
    const connection = await redis.open()
    this.#connection = connection
    const stream = streamKey(prefix)
    const place = laterOf(this.#last, lastSent())
    const known = place === undefined ? [] : entriesOf(await connection.command('XRANGE', [stream, place, place]))
    if (known.length > 0) return
    // Where Redis has lost orders, it has lost versions too.
    if (place !== undefined) await emptySharedCache()
    // The end of the stream comes first: a purge after it is read, and one before it takes entries that are dropped now.
    const [end] = entriesOf(await connection.command('XREVRANGE', [stream, '+', '-', 'COUNT', '1']))
    const last = end?.at ?? String(await connection.command('XADD', [stream, '*', 'from', self]))
    if (place !== undefined) logger.warn('purges of other instances were missed: dropping all cached responses')
    await purge(EVERYTHING)
    this.#last = last
    this.#saveSoon()
  }

  /** @param blockMs how long to wait for orders; undefined: not at all */
  async #read(blockMs: number | undefined): Promise<void> {
    const { prefix, self, purge, confirm, logger } = this.#options
    const block = blockMs === undefined ? [] : ['BLOCK', String(blockMs)]
    const args = ['COUNT', String(BATCH), ...block, 'STREAMS', streamKey(prefix), this.#last ?? '0-0']
    const entries = entriesOfRead(await this.#connection?.command('XREAD', args))
    const carryOut = async ({ id, from, order }: StreamEntry) => {
      if (order === undefined) return
      await purge(order).catch((error: unknown) =>
        logger.error({ err: asError(error) }, 'failed to apply a purge of another instance'),
      )
      await confirm(id, from)
    }
    await Promise.all(entries.filter(({ from }) => from !== self).map(carryOut))
    const last = entries.at(-1)
    if (last === undefined) return
    this.#last = last.at
    this.#saveSoon()
  }

  #saveSoon(): void {
    this.#cancelSave ??= this.#options.clock.after(SAVE_MS, () => void this.#save())
  }

  async #save(): Promise<void> {
    this.#cancelSave?.()
    this.#cancelSave = undefined
    const { file, logger } = this.#options
    await replaceFile(file, `${this.#last ?? ''}\n`).catch((error: unknown) =>
      logger.warn({ err: asError(error) }, 'failed to save the place in the stream of purges'),
    )
  }
}

/** Places are milliseconds and a count. */
function laterOf(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b
  const [ms = 0, count = 0] = a.split('-').map(Number)
  const [otherMs = 0, otherCount = 0] = b.split('-').map(Number)
  return ms > otherMs || (ms === otherMs && count > otherCount) ? a : b
}

/** The entries of a reply of XREAD with one stream; null: there are none. */
function entriesOfRead(reply: unknown): StreamEntry[] {
  if (!Array.isArray(reply)) return []
  const [stream] = reply as unknown[]
  return Array.isArray(stream) ? entriesOf(stream[1]) : []
}

/** The entries of a reply of XRANGE. */
function entriesOf(reply: unknown): StreamEntry[] {
  if (!Array.isArray(reply)) return []
  return reply.flatMap((entry: unknown) => {
    if (!Array.isArray(entry) || !Array.isArray(entry[1])) return []
    const fields = new Map<string, string>()
    const flat: unknown[] = entry[1]
    for (let i = 0; i + 1 < flat.length; i += 2) fields.set(String(flat[i]), String(flat[i + 1]))
    const order = orderOf(fields.get('order'))
    return [{ at: String(entry[0]), id: fields.get('id') ?? '', from: fields.get('from') ?? '', order }]
  })
}

/** An order as another instance wrote it: an unreadable one is a purge of everything. */
function orderOf(text: string | undefined): PurgeOrder | undefined {
  if (text === undefined) return undefined
  try {
    const order = JSON.parse(text) as PurgeOrder
    if (Array.isArray(order.layers) && Array.isArray(order.scopes)) return order
  } catch {
    // Not JSON.
  }
  return EVERYTHING
}
