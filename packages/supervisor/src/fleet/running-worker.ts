import type { PurgeState } from '@svc/cache'
import { type Clock, codeOf, withDeadline } from '@svc/core'
import {
  describeExit,
  type PurgeMember,
  SupervisorError,
  type SupervisorTimings,
  type WorkerProcess,
  watchHeartbeat,
} from '@svc/processes'
import type { AcmeProof, PluginOff, Revocations } from '@svc/protocol'
import type { PackedTarget } from './worker-target.ts'

/** State that a worker gets with its first generation: later changes come to it one by one. */
export interface JoinState {
  readonly purges: PurgeState
  readonly revocations: Revocations
  readonly pluginsOff: PluginOff[]
}

/** A connection worker: its last reported state, and the calls that put it into service. */
export class RunningWorker {
  readonly process: WorkerProcess
  /** Generation that it serves; 0: none yet. */
  generation = 0
  connections = 0
  stopWatch: () => void = () => undefined
  readonly #timings: SupervisorTimings
  readonly #onGeneration = new Set<() => void>()
  /** True if it has built a generation and so may serve. */
  #hasPrepared = false

  constructor(process: WorkerProcess, timings: SupervisorTimings) {
    this.process = process
    this.#timings = timings
  }

  get peer(): WorkerProcess['peer'] {
    return this.process.peer
  }

  /** It reports that it serves a generation. */
  serves(generation: number): void {
    this.generation = generation
    for (const notify of this.#onGeneration) notify()
  }

  /** Has it build a generation. `state` only for its first. */
  async prepare({ spec, hosts }: PackedTarget, state?: JoinState): Promise<void> {
    const request = { spec, hosts: [...hosts], ...state }
    await this.peer.call('prepare', request, { timeoutMs: this.#timings.prepareTimeoutMs })
    this.#hasPrepared = true
  }

  /** Has it swap to the generation that it prepared. Resolves when it serves that. */
  async commit(generation: number): Promise<void> {
    const { commitTimeoutMs: timeoutMs } = this.#timings
    await Promise.all([this.peer.call('commit', { generation }, { timeoutMs }), this.#untilServing(generation)])
  }

  /** Resolves when it responds to certificate authorities with these, or has ended. */
  async setProofs(proofs: readonly AcmeProof[]): Promise<void> {
    const { commitTimeoutMs: timeoutMs } = this.#timings
    await this.peer.call('proofs', { proofs: [...proofs] }, { timeoutMs }).catch((error) => {
      if (codeOf(error) !== 'CORE_PEER_GONE') throw error
    })
  }

  /** Has it refuse tokens. Resolves when it does, or has ended: it is killed if it fails to. Rejects with the reason for that. */
  async revoke(revocations: Revocations): Promise<void> {
    // One that serves nothing yet finds them in its pipe before any request.
    const isBooting = !this.#hasPrepared
    try {
      await this.peer.call('revocations', revocations, { timeoutMs: this.#timings.purgeTimeoutMs })
    } catch (error) {
      if (isBooting && codeOf(error) === 'CORE_TIMEOUT') return
      this.process.kill()
      await this.process.exited
      if (codeOf(error) !== 'CORE_PEER_GONE') throw error
    }
  }

  /** Lets requests end, for at most `timeoutMs`. Resolves with the number of requests cut. */
  async drain(timeoutMs: number): Promise<number> {
    return (await this.peer.call('drain', { timeoutMs }, { timeoutMs: timeoutMs + this.#timings.exitGraceMs })).cut
  }

  /** The worker as a member of purges. */
  get purgeMember(): PurgeMember {
    const { process, peer } = this
    return {
      name: process.name,
      isBooting: !this.#hasPrepared,
      purge: async (purge) => (await peer.call('purge', { purge }, { timeoutMs: Number.POSITIVE_INFINITY })).l0,
      settled: (number) => peer.notify('purgeSettled', { number }),
      kill: () => process.kill(),
      exited: process.exited,
    }
  }

  watch(clock: Clock, onHang: () => void): void {
    const { pingIntervalMs: intervalMs, pingTimeoutMs: timeoutMs } = this.#timings
    this.stopWatch = watchHeartbeat({
      ping: (limitMs) => this.peer.call('ping', undefined, { timeoutMs: limitMs }),
      intervalMs,
      timeoutMs,
      clock,
      onPong: ({ connections }) => {
        this.connections = connections
      },
      onHang,
    })
  }

  /** Resolves when the worker reports that it serves the generation; rejects when it ends. */
  async #untilServing(generation: number): Promise<void> {
    if (this.generation === generation) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const look = () => {
      if (this.generation === generation) resolve()
    }
    this.#onGeneration.add(look)
    const { exited, name } = this.process
    exited.then((exit) => reject(new SupervisorError('SUP_NOT_READY', `ended with ${describeExit(exit)}`)), reject)
    try {
      await withDeadline(promise, this.#timings.commitTimeoutMs, `${name} serving generation ${generation}`)
    } finally {
      this.#onGeneration.delete(look)
    }
  }
}
