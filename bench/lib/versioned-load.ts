import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { ask, askWhole } from './ask.ts'

/** A request of the load, in milliseconds of `performance.now()`. */
export interface Visit {
  readonly instance: number
  readonly page: string
  readonly startedAt: number
  readonly endedAt: number
  /** The cache that has answered it; undefined: none, or Redis. */
  readonly layer: 'l0' | 'l1' | undefined
  /** Version that the page showed; undefined: the request failed. */
  readonly version: number | undefined
}

/** A purge of the load: since then pages that show an earlier version are old. */
export interface VersionPurge {
  readonly instance: number
  readonly page: string
  readonly version: number
  readonly answeredAt: number
  /** It is in Redis, and both instances have confirmed it. */
  readonly isConfirmed: boolean
}

interface VersionedLoadOptions {
  /** Base URL; the field `X-Instance` chooses an instance. */
  readonly url: string
  readonly host: string
  readonly instances: number
  /** Version that pages rendered from now on show. */
  readonly versions: Map<string, number>
  /** Address and fields of the request that purges a page. */
  readonly purge: (page: string) => { readonly target: string; readonly headers: Readonly<Record<string, string>> }
}

const CLIENTS = 8
const INTERVAL_MS = 50
const PURGE_INTERVAL_MS = 500
/** Pages that are requested so rarely that they do not enter L0. */
const RARE_PAGES = 320
/** Pages that are purged in turn. */
const PURGED_PAGES = 4

/**
 * A steady load on all instances: pages in L0, pages in L1, pages that no cache has, and pages that are purged twice a second,
 * on one instance after the other.
 */
export class VersionedLoad {
  readonly visits: Visit[] = []
  readonly purges: VersionPurge[] = []
  /** Texts of the first failures. */
  readonly failures: string[] = []
  failedPurges = 0
  readonly #options: VersionedLoadOptions
  readonly #agent = new Agent({ keepAlive: true })
  readonly #loops: readonly Promise<void>[]
  #isOver = false
  #newPages = 0

  constructor(options: VersionedLoadOptions) {
    this.#options = options
    const clients = Array.from({ length: CLIENTS }, (_, i) =>
      this.#every(INTERVAL_MS, (round) => this.#visit(i + round * CLIENTS)),
    )
    this.#loops = [...clients, this.#every(PURGE_INTERVAL_MS, (round) => this.#purge(round))]
  }

  /** Requests each of the pages once on each instance, before the load begins. */
  static async warmUp({ url, host, instances }: VersionedLoadOptions): Promise<void> {
    const agent = new Agent({ keepAlive: true })
    for (let i = 0; i < RARE_PAGES * instances; i++) {
      const headers = { 'x-instance': String(i % instances) }
      await ask(`${url}/rare-${Math.floor(i / instances)}`, { agent, host, headers })
    }
    agent.destroy()
  }

  /** Resolves when the requests in flight have ended. */
  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#loops)
    this.#agent.destroy()
  }

  /** Runs a task again and again; one that is late begins at once. */
  async #every(intervalMs: number, task: (round: number) => Promise<void>): Promise<void> {
    let dueAt = performance.now() + Math.random() * intervalMs
    for (let round = 0; !this.#isOver; round++) {
      await pause(Math.max(0, dueAt - performance.now()))
      await task(round)
      dueAt = Math.max(dueAt + intervalMs, performance.now() - intervalMs)
    }
  }

  async #visit(number: number): Promise<void> {
    const { url, host, instances } = this.#options
    const instance = number % instances
    const page = this.#pageOf(Math.floor(number / instances))
    const startedAt = performance.now()
    const question = { agent: this.#agent, host, headers: { 'x-instance': String(instance) } }
    const result = await askWhole(`${url}/${page}`, question).then(
      ({ text, headers }) => ({
        layer: layerOf(String(headers['cache-status'])),
        version: Number(/<p>(\d+)<\/p>/.exec(text)?.[1]),
      }),
      (error) => {
        if (this.failures.length < 5) this.failures.push(String(error))
        return { layer: undefined, version: undefined }
      },
    )
    this.visits.push({ instance, page, startedAt, endedAt: performance.now(), ...result })
  }

  /** The page that each instance is asked for in a turn. */
  #pageOf(turn: number): string {
    const cycle = Math.floor(turn / 6)
    switch (turn % 6) {
      case 0:
      case 1:
        return 'hot'
      case 2:
      case 3:
        return `rare-${(2 * cycle + (turn % 2)) % RARE_PAGES}`
      case 4:
        return `purged-${cycle % PURGED_PAGES}`
      default:
        return `new-${this.#newPages++}`
    }
  }

  async #purge(round: number): Promise<void> {
    const { url, host, instances, versions, purge } = this.#options
    const page = `purged-${round % PURGED_PAGES}`
    const instance = Math.floor(round / PURGED_PAGES) % instances
    const version = (versions.get(page) ?? 0) + 1
    versions.set(page, version)
    const { target, headers } = purge(page)
    const question = { agent: this.#agent, host, method: 'POST', headers: { ...headers, 'x-instance': String(instance) } }
    try {
      const answer = JSON.parse(await ask(url + target, question)) as { l2?: string; instances: { acked: number } }
      const isConfirmed = answer.l2 === 'purged' && answer.instances.acked === instances
      this.purges.push({ instance, page, version, answeredAt: performance.now(), isConfirmed })
    } catch (error) {
      this.failedPurges++
      if (this.failures.length < 5) this.failures.push(String(error))
    }
  }
}

function layerOf(cacheStatus: string): Visit['layer'] {
  if (cacheStatus.startsWith('svc-l0; hit')) return 'l0'
  return cacheStatus.startsWith('svc-isr; hit') ? 'l1' : undefined
}
