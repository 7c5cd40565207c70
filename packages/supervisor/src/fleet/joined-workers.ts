import { codeOf } from '@svc/core'
import type { PurgeMember } from '@svc/processes'
import type { AcmeProof, HostEndpoint, PluginOff, Revocations } from '@svc/protocol'
import type { RunningWorker } from './running-worker.ts'

interface JoinedWorkersOptions {
  /** How long a worker may take to apply a changed set of hosts. */
  readonly commitTimeoutMs: number
  /** A worker failed to follow. */
  readonly onProblem: (error: unknown) => void
}

/** The workers that know the state of purges, including those being replaced, until their end: they follow each change of it. */
export class JoinedWorkers {
  readonly #options: JoinedWorkersOptions
  readonly #all = new Set<RunningWorker>()

  /** Reports a failure, unless the worker has ended. */
  readonly #unlessGone = (error: unknown): void => {
    if (codeOf(error) !== 'CORE_PEER_GONE') this.#options.onProblem(error)
  }

  constructor(options: JoinedWorkersOptions) {
    this.#options = options
  }

  has(worker: RunningWorker): boolean {
    return this.#all.has(worker)
  }

  add(worker: RunningWorker): void {
    this.#all.add(worker)
  }

  delete(worker: RunningWorker): void {
    this.#all.delete(worker)
  }

  /** Workers that take part in purges. */
  get purgeMembers(): PurgeMember[] {
    return Array.from(this.#all, (worker) => worker.purgeMember)
  }

  /**
   * Sends the workers a changed set of render hosts. Resolves when each has applied it, has ended, or is too busy to confirm: from
   * then on they send nothing new to a host that is not in the set.
   */
  async announceHosts(hosts: readonly HostEndpoint[]): Promise<void> {
    const { commitTimeoutMs: timeoutMs } = this.#options
    await Promise.all(
      Array.from(this.#all, ({ peer }) => peer.call('hosts', { hosts: [...hosts] }, { timeoutMs }).catch(this.#unlessGone)),
    )
  }

  /** Has all workers respond to certificate authorities with these. Resolves when each has them or has ended. */
  async setProofs(proofs: readonly AcmeProof[]): Promise<void> {
    await Promise.all([...this.#all].map((worker) => worker.setProofs(proofs)))
  }

  /** Has all workers forget what they know of a client. Resolves when each has, has ended, or is too busy to confirm. */
  async unblock(client: string): Promise<void> {
    const { commitTimeoutMs: timeoutMs } = this.#options
    await Promise.all(
      Array.from(this.#all, ({ peer }) => peer.call('unblockClient', { client }, { timeoutMs }).catch(this.#unlessGone)),
    )
  }

  /** Has all workers skip a plugin, or call it again. Resolves when each does, has ended, or is too busy to confirm. */
  async setPluginOff(order: PluginOff): Promise<void> {
    const { commitTimeoutMs: timeoutMs } = this.#options
    await Promise.all(
      Array.from(this.#all, ({ peer }) => peer.call('setPluginOff', order, { timeoutMs }).catch(this.#unlessGone)),
    )
  }

  /** Has all workers refuse tokens. Resolves when each does or has ended; one that does not answer is replaced. */
  async revoke(revocations: Revocations): Promise<void> {
    await Promise.all([...this.#all].map((worker) => worker.revoke(revocations).catch(this.#options.onProblem)))
  }
}
