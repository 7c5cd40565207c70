import type { PurgeState } from '@svc/cache'
import { asError, type Clock, codeOf, type Deferred, deferred, type Handlers, messageOf, withDeadline } from '@svc/core'
import type { PurgeMember, SupervisorTimings, WorkerProcess } from '@svc/processes'
import { type Death, describeExit, Slot, SupervisorError, watchHeartbeat } from '@svc/processes'
import {
  type AcmeProof,
  ExitCode,
  type GenerationSpec,
  type HostEndpoint,
  type masterMethods,
  type PackedGeneration,
  packGeneration,
  type StatusReport,
  type WorkerCacheStats,
} from '@svc/protocol'
import type { Logger } from '@svc/telemetry'

/** The target for every worker. */
interface Target {
  readonly spec: GenerationSpec
  readonly hosts: readonly HostEndpoint[]
}

/** Options of a `WorkerFleet`. */
interface WorkerFleetOptions {
  readonly count: number
  readonly launch: (id: number, handlers: Handlers<typeof masterMethods>) => WorkerProcess
  /** Handlers of a worker's calls to the master, except `ready` and `wornOut`. `connection` identifies this one process. */
  readonly handlers: (connection: object) => Omit<Handlers<typeof masterMethods>, 'ready' | 'wornOut'>
  readonly target: () => Target
  /** Current responses to the proof requests of certificate authorities. */
  readonly proofs: () => readonly AcmeProof[]
  /** The state of purges for a worker that starts to serve. */
  readonly purgeState: () => PurgeState
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  /** A process has ended, for whatever reason. */
  readonly onGone: (process: WorkerProcess, connection: object) => void
  readonly onDeath: () => void
}

interface WorkerFacts {
  readonly id: number
  generation: number
  connections: number
  readonly ready: Set<() => void>
  /** True if it has built a generation and so may serve. */
  hasPrepared: boolean
  stopWatch: () => void
}

const SIGNAL_EXIT_CODES = new Set<number>([ExitCode.unavailable, ExitCode.temporary, ExitCode.config])

/** The connection workers: keeps up their number, and sends them generations, changes of hosts and the drain at the end. */
export class WorkerFleet {
  readonly #options: WorkerFleetOptions
  readonly #slots: Slot<WorkerProcess>[]
  readonly #facts = new WeakMap<WorkerProcess, WorkerFacts>()
  readonly #started: Deferred<void> = deferred()
  readonly #everReady = new Set<number>()
  /** Processes that know the state of purges, including those being replaced, until their end. */
  readonly #joined = new Set<WorkerProcess>()
  /** Replacements of workers at their own request. Never rejects. */
  #renewals: Promise<void> = Promise.resolve()
  /** Each generation is packed once for all workers. */
  readonly #packed = new WeakMap<GenerationSpec, Promise<PackedGeneration>>()

  constructor(options: WorkerFleetOptions) {
    this.#options = options
    this.#slots = Array.from({ length: options.count }, (_, i) => this.#makeSlot(i + 1))
    // A stop before the fleet is up does not await this promise.
    this.#started.promise.catch(() => undefined)
  }

  get count(): number {
    return this.#slots.length
  }

  /** Starts all workers. Resolves when each has been ready once. @throws SUP_START_FAILED with `data.exitCode` */
  start(): Promise<void> {
    for (const slot of this.#slots) slot.start()
    return this.#started.promise
  }

  get ready(): WorkerProcess[] {
    return this.#slots.flatMap((slot) => slot.readyProcess ?? [])
  }

  get isCrashLooping(): boolean {
    return this.#slots.some((slot) => slot.isLooping)
  }

  /** Has all ready workers build a generation. Rejects with the first failure; the caller must then call `abandon`. */
  async prepare(target: Target): Promise<readonly WorkerProcess[]> {
    const spec = await this.#pack(target.spec)
    const workers = this.ready
    const { prepareTimeoutMs } = this.#options.timings
    const results = await Promise.allSettled(
      workers.map((worker) => worker.peer.call('prepare', { spec, hosts: [...target.hosts] }, { timeoutMs: prepareTimeoutMs })),
    )
    const failed = results.findIndex((result) => result.status === 'rejected')
    const failure = results[failed]
    if (failure?.status !== 'rejected') return workers
    const message = `${workers[failed]?.name} failed to prepare: ${messageOf(failure.reason)}`
    throw new SupervisorError('SUP_NOT_READY', message, { cause: failure.reason })
  }

  /** Has the workers drop the generation that they prepared. */
  abandon(generation: number): void {
    for (const worker of this.ready) worker.peer.notify('abandon', { generation })
  }

  /**
   * Has the prepared workers swap to the generation, which must be the target by now. Replaces a worker that fails to; a worker
   * that became ready meanwhile follows.
   */
  async commit(workers: readonly WorkerProcess[], generation: number): Promise<void> {
    const late = this.ready.filter((worker) => !workers.includes(worker))
    await Promise.all([
      ...workers.map((worker) => this.#commitOne(worker, generation)),
      ...late.map((worker) => this.#bring(worker).catch(() => worker.kill())),
    ])
  }

  /**
   * Sends the workers a changed set of render hosts. Resolves when each has applied it, is gone, or is too busy to confirm: from
   * then on they send nothing new to a host that is not in the set.
   */
  async announceHosts(hosts: readonly HostEndpoint[]): Promise<void> {
    const { commitTimeoutMs } = this.#options.timings
    await Promise.all(
      [...this.#joined].map((worker) =>
        worker.peer.call('hosts', { hosts: [...hosts] }, { timeoutMs: commitTimeoutMs }).catch((error) => {
          if (codeOf(error) !== 'CORE_PEER_GONE') this.#problem(error)
        }),
      ),
    )
  }

  /** Has all workers respond to certificate authorities with these. Resolves when each has them or is gone. */
  async setProofs(proofs: readonly AcmeProof[]): Promise<void> {
    await Promise.all([...this.#joined].map((worker) => this.#tellProofs(worker, proofs)))
  }

  /** Workers that take part in purges. */
  get purgeMembers(): PurgeMember[] {
    return Array.from(this.#joined, (worker) => ({
      name: worker.name,
      isBooting: this.#facts.get(worker)?.hasPrepared !== true,
      purge: async (purge) => (await worker.peer.call('purge', { purge }, { timeoutMs: Number.POSITIVE_INFINITY })).l0,
      settled: (number) => worker.peer.notify('purgeSettled', { number }),
      kill: () => worker.kill(),
      exited: worker.exited,
    }))
  }

  /** Sums the memory caches of all workers. A worker that does not respond counts as empty. */
  async cacheStats(timeoutMs: number): Promise<WorkerCacheStats> {
    const empty: WorkerCacheStats = { l0Entries: 0, l0Bytes: 0 }
    const all = await Promise.all(
      this.ready.map((worker) => worker.peer.call('cacheStats', undefined, { timeoutMs }).catch(() => empty)),
    )
    const sum = (read: (stats: WorkerCacheStats) => number) => all.reduce((total, stats) => total + read(stats), 0)
    return { l0Entries: sum(({ l0Entries }) => l0Entries), l0Bytes: sum(({ l0Bytes }) => l0Bytes) }
  }

  /** Has one worker render the pages of a site that are known in advance. */
  warm(site: string): void {
    this.ready[0]?.peer.notify('warm', { site })
  }

  siteChanged(site: string): void {
    for (const worker of this.#live()) worker.peer.notify('siteChanged', { site })
  }

  /** Drains requests for at most `timeoutMs` and ends the workers. Resolves with the number of requests cut. */
  async drain(timeoutMs: number): Promise<number> {
    for (const slot of this.#slots) slot.beginDrain()
    const cuts = await Promise.all(this.#slots.map((slot) => this.#drainSlot(slot, timeoutMs)))
    return cuts.reduce((sum, cut) => sum + cut, 0)
  }

  /** Cuts everything in flight at once, which ends a running drain. Kills a worker that fails to. */
  cut(): void {
    const { clock, timings } = this.#options
    for (const worker of this.#live()) {
      worker.peer.notify('cut', undefined)
      clock.after(timings.exitGraceMs, () => worker.kill())
    }
  }

  /** Ends all workers without a drain. */
  async stop(): Promise<void> {
    this.#started.reject(new SupervisorError('SUP_STOPPED', 'the start was aborted'))
    await Promise.all(this.#slots.map((slot) => slot.stop(this.#options.timings.exitGraceMs)))
  }

  status(): StatusReport['workers'] {
    return this.#slots.map((slot, i) => {
      const facts = slot.process === undefined ? undefined : this.#facts.get(slot.process)
      return {
        id: i + 1,
        pid: slot.process?.hasExited === false ? slot.process.pid : 0,
        state: slot.state,
        generation: facts?.generation ?? 0,
        connections: facts?.connections ?? 0,
      }
    })
  }

  #live(): WorkerProcess[] {
    return this.#slots.flatMap((slot) => (slot.process?.hasExited === false ? slot.process : []))
  }

  #makeSlot(id: number): Slot<WorkerProcess> {
    const { timings, clock } = this.#options
    const driver = {
      launch: () => this.#launch(id),
      bring: (worker: WorkerProcess) => this.#bring(worker),
      ready: (worker: WorkerProcess) => this.#becameReady(id, worker),
      died: (death: Death<WorkerProcess>) => this.#died(id, death),
      // A worker's first requests cost no more than later ones.
      warm: async () => undefined,
      retire: async (worker: WorkerProcess) => {
        await worker.peer.call('drain', { timeoutMs: timings.prepareTimeoutMs }, { timeoutMs: timings.prepareTimeoutMs + 1_000 })
      },
    }
    return new Slot(driver, timings, clock)
  }

  #launch(id: number): WorkerProcess {
    const facts: WorkerFacts = {
      id,
      generation: 0,
      connections: 0,
      ready: new Set(),
      hasPrepared: false,
      stopWatch: () => undefined,
    }
    const worker: WorkerProcess = this.#options.launch(id, {
      ...this.#options.handlers(facts),
      ready: ({ generation }) => {
        facts.generation = generation
        for (const waiter of facts.ready) waiter()
        return undefined
      },
      wornOut: ({ reason }) => {
        this.#renew(worker, reason)
        return undefined
      },
    })
    this.#facts.set(worker, facts)
    worker.exited.then(() => {
      facts.stopWatch()
      this.#joined.delete(worker)
      this.#options.onGone(worker, facts)
    }, this.#problem)
    return worker
  }

  readonly #problem = (error: unknown): void => this.#options.logger.error({ err: asError(error) }, 'worker bookkeeping failed')

  /** Brings a new worker to the target of the moment when it is ready. */
  async #bring(worker: WorkerProcess): Promise<void> {
    const { timings, target } = this.#options
    let served: Target
    do {
      served = target()
      const { generation } = served.spec
      await this.#prepareFresh(worker, served)
      await Promise.all([
        worker.peer.call('commit', { generation }, { timeoutMs: timings.commitTimeoutMs }),
        this.#servesGeneration(worker, generation),
      ])
    } while (target().spec.generation !== served.spec.generation)
    if (target().hosts !== served.hosts) worker.peer.notify('hosts', { hosts: [...target().hosts] })
  }

  #pack(spec: GenerationSpec): Promise<PackedGeneration> {
    const packed = this.#packed.get(spec) ?? packGeneration(spec)
    this.#packed.set(spec, packed)
    return packed
  }

  /** Has a new worker build a generation. It takes part in purges from the turn in which it gets the purges so far. */
  async #prepareFresh(worker: WorkerProcess, { spec, hosts }: Target): Promise<void> {
    const { timings, purgeState } = this.#options
    const packed = await this.#pack(spec)
    const purges = this.#joined.has(worker) ? {} : { purges: purgeState() }
    if (!worker.hasExited) this.#joined.add(worker)
    await worker.peer.call('prepare', { spec: packed, hosts: [...hosts], ...purges }, { timeoutMs: timings.prepareTimeoutMs })
    const proofs = this.#options.proofs()
    if (proofs.length > 0) await this.#tellProofs(worker, proofs)
    const facts = this.#facts.get(worker)
    if (facts !== undefined) facts.hasPrepared = true
  }

  async #tellProofs(worker: WorkerProcess, proofs: readonly AcmeProof[]): Promise<void> {
    const { commitTimeoutMs: timeoutMs } = this.#options.timings
    await worker.peer.call('proofs', { proofs: [...proofs] }, { timeoutMs }).catch((error) => {
      if (codeOf(error) !== 'CORE_PEER_GONE') throw error
    })
  }

  /** Replaces a worker at its own request, one at a time. */
  #renew(worker: WorkerProcess, reason: string): void {
    this.#renewals = this.#renewals.then(async () => {
      this.#options.logger.info({ worker_pid: worker.pid, reason }, 'replacing a worker')
      const slot = this.#slots.find((candidate) => candidate.readyProcess === worker)
      await slot?.replace().catch(this.#problem)
    })
  }

  /** Resolves when the worker reports that it serves the generation; rejects when it ends. */
  async #servesGeneration(worker: WorkerProcess, generation: number): Promise<void> {
    const facts = this.#facts.get(worker)
    if (facts === undefined || facts.generation === generation) return
    const { promise, resolve, reject } = deferred<void>()
    const look = () => {
      if (facts.generation === generation) resolve()
    }
    facts.ready.add(look)
    worker.exited.then((exit) => reject(new SupervisorError('SUP_NOT_READY', `ended with ${describeExit(exit)}`)), reject)
    try {
      await withDeadline(promise, this.#options.timings.commitTimeoutMs, `${worker.name} serving generation ${generation}`)
    } finally {
      facts.ready.delete(look)
    }
  }

  #becameReady(id: number, worker: WorkerProcess): void {
    const { timings, clock, logger } = this.#options
    const facts = this.#facts.get(worker)
    if (facts === undefined) return
    facts.stopWatch = watchHeartbeat({
      ping: (timeoutMs) => worker.peer.call('ping', undefined, { timeoutMs }),
      intervalMs: timings.pingIntervalMs,
      timeoutMs: timings.pingTimeoutMs,
      clock,
      onPong: ({ connections }) => {
        facts.connections = connections
      },
      onHang: () => {
        logger.error({ worker: id, worker_pid: worker.pid }, 'worker stopped responding; replacing it')
        worker.kill()
      },
    })
    this.#everReady.add(id)
    if (this.#everReady.size === this.#slots.length) this.#started.resolve()
  }

  #died(id: number, death: Death<WorkerProcess>): void {
    const { logger, timings, onDeath } = this.#options
    const { process, exit, cause, failures, retryInMs } = death
    onDeath()
    const reason = exit.signal === 'SIGKILL' && cause !== undefined ? cause.message : describeExit(exit)
    logger.error({ worker: id, worker_pid: process.pid, failures, retry_in_ms: retryInMs }, `worker died: ${reason}`)
    if (this.#everReady.has(id) || failures < timings.startAttempts) return
    const why = cause === undefined || codeOf(cause) === 'CORE_PEER_GONE' ? describeExit(exit) : cause.message
    const exitCode = exit.code !== null && SIGNAL_EXIT_CODES.has(exit.code) ? exit.code : ExitCode.internal
    const message = `worker ${id} ended ${failures} times before it was ready: ${why}`
    this.#started.reject(new SupervisorError('SUP_START_FAILED', message, { cause, data: { exitCode } }))
  }

  async #commitOne(worker: WorkerProcess, generation: number): Promise<void> {
    try {
      await Promise.all([
        worker.peer.call('commit', { generation }, { timeoutMs: this.#options.timings.commitTimeoutMs }),
        this.#servesGeneration(worker, generation),
      ])
    } catch (error) {
      // A worker that died is being replaced already, and its replacement starts on the new generation.
      if (worker.hasExited || worker.peer.isClosed) return
      this.#options.logger.error({ err: asError(error), worker_pid: worker.pid }, 'worker failed to commit; replacing it')
      const slot = this.#slots.find((candidate) => candidate.process === worker)
      await slot?.replace().catch(() => worker.kill())
    }
  }

  async #drainSlot(slot: Slot<WorkerProcess>, timeoutMs: number): Promise<number> {
    const { exitGraceMs } = this.#options.timings
    let cut = 0
    const worker = slot.process
    if (worker !== undefined && !worker.hasExited) {
      // A worker that dies now has nothing left to report; its connections went with it.
      const reply = await worker.peer.call('drain', { timeoutMs }, { timeoutMs: timeoutMs + exitGraceMs }).catch(() => undefined)
      cut = reply?.cut ?? 0
    }
    await slot.stop(exitGraceMs)
    return cut
  }
}
