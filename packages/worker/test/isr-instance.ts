import type { TestContext } from 'node:test'
import type { LeaseDesk, Purge, PurgeOrder } from '@svc/cache'
import type { CacheFacts, LeaseOutcome, LeaseReply, RenderReply, RenderRequest } from '@svc/protocol'
import { CacheMetrics, MetricSet } from '@svc/telemetry'
import { ManualClock, MemoryStore } from '@svc/testkit'
import { IsrCache } from '../src/isr/isr-cache.ts'
import type { CannedSink } from './canned-renderer.ts'
import { PipelineServer, type TestSite } from './pipeline-server.ts'

/** The store of an instance, whose processes are all in this one. */
class InstanceStore extends MemoryStore {
  refresh(): void {
    // A commit is visible at once.
  }
}

/** One holder per key, the others wait for its end: what the master does, without processes that die. */
export class InstanceLeases {
  readonly outcomes: LeaseOutcome[] = []
  asked = 0
  /** Requests are looked at when this has settled. */
  gate: Promise<void> | undefined
  /** Grants leases that it does not remember. */
  isFull = false
  readonly #held = new Map<string, { id: number; ended: PromiseWithResolvers<LeaseOutcome> }>()
  #ids = 0

  desk(): LeaseDesk {
    return {
      lease: (key) => this.#lease(key),
      leaseEnded: (id, outcome) => this.#ended(id, outcome),
      isHeld: async (prefixes) => [...this.#held.keys()].some((key) => prefixes.some((prefix) => key.startsWith(prefix))),
    }
  }

  /** Holds a key as another process would. */
  hold(key: string): (outcome: LeaseOutcome) => void {
    const id = ++this.#ids
    this.#held.set(key, { id, ended: Promise.withResolvers() })
    return (outcome) => this.#ended(id, outcome)
  }

  get held(): number {
    return this.#held.size
  }

  async #lease(key: string): Promise<LeaseReply> {
    this.asked++
    await this.gate
    if (this.isFull) return { granted: true, id: 0 }
    const held = this.#held.get(key)
    if (held !== undefined) return { granted: false, id: 0, outcome: await held.ended.promise }
    const id = ++this.#ids
    this.#held.set(key, { id, ended: Promise.withResolvers() })
    return { granted: true, id, outcome: undefined }
  }

  #ended(id: number, outcome: LeaseOutcome): void {
    for (const [key, held] of this.#held) {
      if (held.id !== id) continue
      this.#held.delete(key)
      this.outcomes.push(outcome)
      held.ended.resolve(outcome)
    }
  }
}

/** A worker of the instance. */
export interface IsrWorker {
  readonly server: PipelineServer
  readonly isr: IsrCache
}

/** Workers that share a store, as the processes of an instance do. */
export class IsrInstance {
  readonly store = new InstanceStore()
  readonly leases = new InstanceLeases()
  readonly clock = new ManualClock()
  readonly metrics = new MetricSet()
  readonly problems: Error[] = []
  readonly #counts = new CacheMetrics(this.metrics)
  readonly #workers: IsrWorker[] = []
  #purges = 0

  /** Adds a worker that serves these sites, without L0. */
  async worker(t: TestContext, sites: readonly TestSite[], more = ''): Promise<IsrWorker> {
    return this.#add(await PipelineServer.start(t, sites, `[cache.l0]\nenabled = false\n${more}`), this.clock)
  }

  /** Adds a worker with L0, which goes by the clock of its server. */
  async workerWithL0(t: TestContext, sites: readonly TestSite[], more = ''): Promise<IsrWorker> {
    const server = await PipelineServer.start(t, sites, more)
    return this.#add(server, server.clock)
  }

  #add(server: PipelineServer, clock: ManualClock): IsrWorker {
    const { ledger } = server
    ledger.reset({ last: this.#purges, unsettled: [] })
    const isr = new IsrCache({
      store: this.store,
      ledger,
      leases: this.leases.desk(),
      renderer: server.renderer,
      metrics: this.#counts,
      clock,
      onProblem: (error) => this.problems.push(error),
    })
    server.isr = isr
    const worker = { server, isr }
    this.#workers.push(worker)
    return worker
  }

  /** Carries out a purge as the master does. */
  async purge(order: Partial<PurgeOrder>): Promise<Purge> {
    const purge: Purge = { number: ++this.#purges, layers: ['isr'], scopes: [{ kind: 'everything' }], mode: 'drop', ...order }
    for (const { server, isr } of this.#workers) {
      server.ledger.add(purge)
      server.l0.purge(purge)
      isr.purged(purge)
    }
    await this.store.purge(purge)
    for (const { server } of this.#workers) server.ledger.settled(purge.number)
    return purge
  }

  /** Resolves when no render holds a lease and those who waited have been told. */
  async settled(): Promise<void> {
    do await settle()
    while (this.leases.held > 0)
  }

  /** Returns the value of a counter, by its labels. */
  async count(name: string): Promise<Record<string, number>> {
    const found = this.metrics.toJson().find((metric) => metric.name === name)
    return Object.fromEntries((found?.values ?? []).map(({ labels, value }) => [Object.values(labels).join(' '), value]))
  }
}

/** A render that a test answers when it wants to. */
export interface HeldRender {
  readonly request: RenderRequest
  readonly sink: CannedSink
}

/** Holds all renders of a worker. */
export function holdRenders({ server }: IsrWorker): HeldRender[] {
  const held: HeldRender[] = []
  server.renderer.answer = ({ request, sink }) => held.push({ request, sink })
  return held
}

/** How many turns in a row the product may take for what it puts off to the next one. */
const DEFERRED_TURNS = 5

/**
 * Resolves when everything has happened that needs no one from outside: when nothing is being read from disk (the routes of a site
 * are, at its first request), and what was put off to later turns since then is done. How long that takes does not matter.
 */
export async function settle(): Promise<void> {
  for (let quiet = 0; quiet < DEFERRED_TURNS; quiet++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))) quiet = -1
  }
}

/** Facts of a render: the parts of the request that it read, and its caching options. */
export function facts(reads: string[] = [], revalidate: CacheFacts['revalidate'] = undefined, tags: string[] = []): CacheFacts {
  return { reads, tags, revalidate }
}

/** The reply of a page with these facts. */
export function page(cache: CacheFacts = facts(), status = 200, headers: [string, string][] = []): RenderReply {
  return { head: { status, headers: [['content-type', 'text/html; charset=utf-8'], ...headers] }, cache, queueMs: 0, renderMs: 0 }
}
