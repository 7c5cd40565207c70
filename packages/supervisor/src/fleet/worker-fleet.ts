import { asError, type Clock, codeOf, Gate, type Handlers, messageOf } from '@svc/core'
import type { SupervisorTimings, WorkerProcess } from '@svc/processes'
import { type Death, describeExit, Slot, SupervisorError } from '@svc/processes'
import { type AcmeProof, ExitCode, type masterMethods, type StatusReport } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { JoinedWorkers } from './joined-workers.ts'
import type { Replaceable } from './rolling-restart.ts'
import { type JoinState, RunningWorker } from './running-worker.ts'
import { PackedTargets, type WorkerTarget } from './worker-target.ts'

/** Options of a `WorkerFleet`. */
export interface WorkerFleetOptions {
  readonly count: number
  readonly launch: (id: number, handlers: Handlers<typeof masterMethods>) => WorkerProcess
  /** Handlers of a worker's calls to the master, except `ready` and `wornOut`. `connection` identifies this one process. */
  readonly handlers: (connection: object) => Omit<Handlers<typeof masterMethods>, 'ready' | 'wornOut'>
  readonly target: () => WorkerTarget
  /** Current responses to the proof requests of certificate authorities. */
  readonly proofs: () => readonly AcmeProof[]
  /** The state for a worker that starts to serve. */
  readonly joinState: () => JoinState
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  /** A worker has begun to serve. */
  readonly onReady: (worker: RunningWorker) => void
  /** A worker that was replaced has done its work, and ends when this resolves. Never rejects. */
  readonly onDrained: (worker: RunningWorker) => Promise<void>
  /** A process has ended, for whatever reason. */
  readonly onExit: (worker: RunningWorker, connection: object) => void
  readonly onDeath: () => void
}

const SIGNAL_EXIT_CODES = new Set<number>([ExitCode.unavailable, ExitCode.temporary, ExitCode.config])

/** The connection workers: keeps up their number, and sends them generations and the drain at the end. */
export class WorkerFleet {
  readonly joined: JoinedWorkers
  readonly #options: WorkerFleetOptions
  readonly #slots: Slot<RunningWorker>[]
  readonly #started = Promise.withResolvers<void>()
  readonly #everReady = new Set<number>()
  /** Replacements of workers at their own request. */
  readonly #renewals = new Gate(1)
  readonly #packed = new PackedTargets()

  constructor(options: WorkerFleetOptions) {
    this.#options = options
    this.joined = new JoinedWorkers({ commitTimeoutMs: options.timings.commitTimeoutMs, onProblem: this.#problem })
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

  /** Workers that serve. */
  get ready(): RunningWorker[] {
    return this.#slots.flatMap((slot) => slot.ready ?? [])
  }

  /** Workers that run, ready or not. */
  get live(): RunningWorker[] {
    return this.#slots.flatMap(({ current }) => (current?.process.hasExited === false ? current : []))
  }

  /** Workers that die again and again. */
  get looping(): number {
    return this.#slots.filter((slot) => slot.isLooping).length
  }

  /** The processes in the order of `status`. */
  get replaceables(): Replaceable[] {
    return this.#slots.map((slot, index) => {
      const old = slot.ready
      // A process that has ended meanwhile has been replaced already.
      return { id: `w${index + 1}`, replace: async () => (old !== undefined && slot.ready === old ? slot.replace() : undefined) }
    })
  }

  /** Has all ready workers build a generation. Rejects with the first failure; the caller must then call `abandon`. */
  async prepare(target: WorkerTarget): Promise<readonly RunningWorker[]> {
    const packed = await this.#packed.of(target)
    const workers = this.ready
    const results = await Promise.allSettled(workers.map((worker) => worker.prepare(packed)))
    const failed = results.findIndex((result) => result.status === 'rejected')
    const failure = results[failed]
    if (failure?.status !== 'rejected') return workers
    const message = `${workers[failed]?.process.name} failed to prepare: ${messageOf(failure.reason)}`
    throw new SupervisorError('SUP_NOT_READY', message, { cause: failure.reason })
  }

  /** Has the workers drop the generation that they prepared. */
  abandon(generation: number): void {
    for (const { peer } of this.ready) peer.notify('abandon', { generation })
  }

  /**
   * Has the prepared workers swap to the generation, which must be the target by now. Replaces a worker that fails to; a worker
   * that became ready meanwhile follows.
   */
  async commit(workers: readonly RunningWorker[], generation: number): Promise<void> {
    const late = this.ready.filter((worker) => !workers.includes(worker))
    await Promise.all([
      ...workers.map((worker) => this.#commitOne(worker, generation)),
      ...late.map((worker) => this.#bring(worker).catch(() => worker.process.kill())),
    ])
  }

  /** Drains requests for at most `timeoutMs` and ends the workers. Resolves with the number of requests cut. */
  async drain(timeoutMs: number): Promise<number> {
    for (const slot of this.#slots) slot.beginDrain()
    const cuts = await Promise.all(
      this.#slots.map(async (slot) => {
        // A worker that dies now has nothing left to report; its connections went with it.
        const cut = slot.current?.process.hasExited === false ? await slot.current.drain(timeoutMs).catch(() => 0) : 0
        await slot.stop(this.#options.timings.exitGraceMs)
        return cut
      }),
    )
    return cuts.reduce((sum, cut) => sum + cut, 0)
  }

  /** Cuts everything in flight at once, which ends a running drain. Kills a worker that fails to. */
  cut(): void {
    const { clock, timings } = this.#options
    for (const { process } of this.live) {
      process.peer.notify('cut', undefined)
      clock.after(timings.exitGraceMs, () => process.kill())
    }
  }

  /** Ends all workers without a drain. */
  async stop(): Promise<void> {
    this.#started.reject(new SupervisorError('SUP_STOPPED', 'the start was aborted'))
    await Promise.all(this.#slots.map((slot) => slot.stop(this.#options.timings.exitGraceMs)))
  }

  status(): StatusReport['workers'] {
    return this.#slots.map(({ current, state }, i) => ({
      id: i + 1,
      pid: current?.process.hasExited === false ? current.process.pid : 0,
      state,
      generation: current?.generation ?? 0,
      connections: current?.connections ?? 0,
    }))
  }

  #makeSlot(id: number): Slot<RunningWorker> {
    const { timings, clock, logger, onReady, onDrained } = this.#options
    const driver = {
      launch: () => this.#launch(id),
      bring: (worker: RunningWorker) => this.#bring(worker),
      ready: (worker: RunningWorker) => {
        worker.watch(clock, () => {
          logger.error({ worker: id, worker_pid: worker.process.pid }, 'worker stopped responding; replacing it')
          worker.process.kill()
        })
        onReady(worker)
        this.#everReady.add(id)
        if (this.#everReady.size === this.#slots.length) this.#started.resolve()
      },
      died: (death: Death<RunningWorker>) => this.#died(id, death),
      // A worker's first requests cost no more than later ones.
      warm: async () => undefined,
      retire: async (worker: RunningWorker) => {
        await worker.drain(timings.prepareTimeoutMs)
        await onDrained(worker)
      },
    }
    return new Slot(driver, timings, clock)
  }

  #launch(id: number): RunningWorker {
    const { launch, handlers, onExit, timings } = this.#options
    const connection = {}
    const process = launch(id, {
      ...handlers(connection),
      ready: ({ generation }) => void worker.serves(generation),
      wornOut: ({ reason }) => void this.#renew(worker, reason),
    })
    const worker = new RunningWorker(process, timings)
    process.exited.then(() => {
      worker.stopWatch()
      this.joined.delete(worker)
      onExit(worker, connection)
    }, this.#problem)
    return worker
  }

  readonly #problem = (error: unknown): void => this.#options.logger.error({ err: asError(error) }, 'worker bookkeeping failed')

  /** Brings a new worker to the target of the moment when it is ready. */
  async #bring(worker: RunningWorker): Promise<void> {
    const { target, proofs, joinState } = this.#options
    let served: WorkerTarget
    do {
      served = target()
      const packed = await this.#packed.of(served)
      // It takes part in purges from the turn in which it gets the purges so far.
      const state = this.joined.has(worker) ? undefined : joinState()
      if (!worker.process.hasExited) this.joined.add(worker)
      await worker.prepare(packed, state)
      if (proofs().length > 0) await worker.setProofs(proofs())
      await worker.commit(served.spec.generation)
    } while (target().spec.generation !== served.spec.generation)
    if (target().hosts !== served.hosts) worker.peer.notify('hosts', { hosts: [...target().hosts] })
  }

  /** Replaces a worker at its own request, one at a time. */
  #renew(worker: RunningWorker, reason: string): void {
    void this.#renewals.run(async () => {
      this.#options.logger.info({ worker_pid: worker.process.pid, reason }, 'replacing a worker')
      const slot = this.#slots.find((candidate) => candidate.ready === worker)
      await slot?.replace().catch(this.#problem)
    })
  }

  #died(id: number, { running, exit, cause, failures, retryInMs }: Death<RunningWorker>): void {
    const { logger, timings, onDeath } = this.#options
    onDeath()
    const reason = exit.signal === 'SIGKILL' && cause !== undefined ? cause.message : describeExit(exit)
    const facts = { worker: id, worker_pid: running.process.pid, failures, retry_in_ms: retryInMs }
    logger.error(facts, `worker died: ${reason}`)
    if (this.#everReady.has(id) || failures < timings.startAttempts) return
    const why = cause === undefined || codeOf(cause) === 'CORE_PEER_GONE' ? describeExit(exit) : cause.message
    const exitCode = exit.code !== null && SIGNAL_EXIT_CODES.has(exit.code) ? exit.code : ExitCode.internal
    const message = `worker ${id} ended ${failures} times before it was ready: ${why}`
    this.#started.reject(new SupervisorError('SUP_START_FAILED', message, { cause, data: { exitCode } }))
  }

  async #commitOne(worker: RunningWorker, generation: number): Promise<void> {
    try {
      await worker.commit(generation)
    } catch (error) {
      // A worker that died is being replaced already, and its replacement starts on the new generation.
      if (worker.process.hasExited || worker.peer.isClosed) return
      const facts = { err: asError(error), worker_pid: worker.process.pid }
      this.#options.logger.error(facts, 'worker failed to commit; replacing it')
      const slot = this.#slots.find((candidate) => candidate.current === worker)
      await slot?.replace().catch(() => worker.process.kill())
    }
  }
}
