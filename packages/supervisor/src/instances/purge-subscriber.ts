import { EVERYTHING, type PurgeOrder } from '@svc/cache'
import { asError, type Clock, replaceFile } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import type { InstanceRedis, WaitingConnection } from './instance-redis.ts'
import { addToStream, entriesOf, entriesOfRead, laterOf, type StreamEntry, streamKey } from './purge-stream.ts'

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
      while ((await this.#read(undefined)) === BATCH);
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
    const { redis, prefix, self, lastSent, emptySharedCache, logger } = this.#options
    const connection = await redis.open()
    this.#connection = connection
    const stream = streamKey(prefix)
    const type = String(await connection.command('TYPE', [stream]))
    if (type !== 'stream' && type !== 'none') {
      logger.warn(
        { key: stream, type },
        'a key in Redis is not the stream of purges: replacing it (does another program use this key_prefix?)',
      )
      await addToStream(redis, prefix, { id: '', from: self, order: undefined })
    }
    const place = laterOf(this.#last, lastSent())
    const known = place === undefined ? [] : entriesOf(await connection.command('XRANGE', [stream, place, place]))
    if (known.length > 0) return
    // Where Redis has lost orders, it has lost versions too.
    if (place !== undefined) await emptySharedCache()
    await this.#startOver(place !== undefined)
  }

  /** Drops the caches, and goes on at the end of the stream. `areMissed`: purges have come that this instance has not read. */
  async #startOver(areMissed: boolean): Promise<void> {
    const { redis, prefix, purge, logger, self } = this.#options
    // The end of the stream comes first: a purge after it is read, and one before it takes entries that are dropped now.
    const [end] = entriesOf(await this.#connection?.command('XREVRANGE', [streamKey(prefix), '+', '-', 'COUNT', '1']))
    const last = end?.at ?? (await addToStream(redis, prefix, { id: '', from: self, order: undefined }))
    if (areMissed) logger.warn('purges of other instances were missed: dropping all cached responses')
    await purge(EVERYTHING)
    this.#last = last
    this.#saveSoon()
  }

  /**
   * Reads the next entries. Returns how many there were.
   * @param blockMs how long to wait for some; undefined: not at all
   */
  async #read(blockMs: number | undefined): Promise<number> {
    const { prefix, self, confirm } = this.#options
    const block = blockMs === undefined ? [] : ['BLOCK', String(blockMs)]
    const args = ['COUNT', String(BATCH), ...block, 'STREAMS', streamKey(prefix), this.#last ?? '0-0']
    const entries = entriesOfRead(await this.#connection?.command('XREAD', args))
    const [first, last] = [entries[0], entries.at(-1)]
    if (first === undefined || last === undefined) return 0
    const ofOthers = entries.filter(({ from, order }) => from !== self && order !== undefined)
    if (first.after !== (this.#last ?? '')) {
      await this.#startOver(true)
      await Promise.all(ofOthers.map(({ id, from }) => confirm(id, from)))
      return entries.length
    }
    await Promise.all(ofOthers.map((entry) => this.#carryOut(entry)))
    this.#last = last.at
    this.#saveSoon()
    return entries.length
  }

  async #carryOut({ id, from, order = EVERYTHING }: StreamEntry): Promise<void> {
    const { purge, confirm, logger } = this.#options
    await purge(order).catch((error: unknown) =>
      logger.error({ err: asError(error) }, 'failed to apply a purge of another instance'),
    )
    await confirm(id, from)
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
