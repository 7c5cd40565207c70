import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { EntryStore, type Purge, type PurgeOrder, type PurgeState } from '@svc/cache'
import type { PurgeOutcome } from '@svc/protocol'
import { tempDir } from '@svc/testkit'
import { type HostOptions, HostProcess } from './host-process.ts'

const TIMEOUT = { timeoutMs: 30_000 }

/** Some render hosts over one cache directory, and as much of a master as carries out their purges. */
export class HostInstance {
  readonly #t: Pick<TestContext, 'after'>
  readonly hosts: HostProcess[] = []
  readonly orders: PurgeOrder[] = []
  readonly cacheDir: string
  /** Called with each purge when every host knows it and the store has it still. */
  beforeStore: (purge: Purge) => Promise<void> = async () => undefined
  /** Refuses all purges. */
  isBroken = false
  #state: PurgeState = { last: 0, unsettled: [] }
  #store: Promise<EntryStore> | undefined
  #turn: Promise<unknown> = Promise.resolve()

  constructor(t: Pick<TestContext, 'after'>) {
    this.#t = t
    this.cacheDir = join(tempDir(t, 'svc-instance'), 'cache')
    t.after(async () => {
      await (await this.#store)?.close()
    })
  }

  /** Starts a host; it is told of the purges that are not settled yet. */
  async start(options: Omit<HostOptions, 'cacheDir' | 'onPurge' | 'purges'>): Promise<HostProcess> {
    const { cacheDir } = this
    const purges = this.#state
    // The master has the store open before any host joins it.
    await this.store()
    const host = await HostProcess.start(this.#t, { ...options, cacheDir, purges, onPurge: (order) => this.purge(order) })
    this.hosts.push(host)
    return host
  }

  /** The store as this process has it open. */
  store(): Promise<EntryStore> {
    this.#store ??= EntryStore.open({ cacheDir: this.cacheDir, maxEntries: 1_000, maxBytes: 16 << 20, graceMs: 0 })
    return this.#store
  }

  /** Carries out a purge as a master does: one at a time, hosts first, then the store. */
  purge(order: PurgeOrder): Promise<PurgeOutcome> {
    const done = this.#turn.then(() => this.#purge(order))
    this.#turn = done.catch(() => undefined)
    return done
  }

  async #purge(order: PurgeOrder): Promise<PurgeOutcome> {
    this.orders.push(order)
    if (this.isBroken) throw new Error('no worker answers')
    const purge: Purge = { ...order, number: this.#state.last + 1 }
    this.#state = { last: purge.number, unsettled: [purge] }
    const live = this.hosts.filter((host) => !host.master.isClosed)
    await Promise.all(live.map((host) => host.master.call('purge', { purge }, TIMEOUT)))
    await this.beforeStore(purge)
    const isr = await (await this.store()).purge(purge)
    await Promise.all(live.map((host) => host.master.call('purgeSettled', { number: purge.number }, TIMEOUT)))
    this.#state = { last: purge.number, unsettled: [] }
    return {
      number: purge.number,
      l0: 0,
      isr,
      proxy: 0,
      workersAcked: 0,
      workersTotal: 0,
      instances: { acked: 1, known: 1 },
      tookMs: 0,
    }
  }
}
