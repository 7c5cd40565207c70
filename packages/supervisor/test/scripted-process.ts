import { EventEmitter } from 'node:events'
import type { HostProcess, PoolStatus, ProcessExit, WorkerProcess } from '@svc/processes'
import type { MetricJson } from '@svc/telemetry'

/** Answers calls at once, as a worker or render host does, without a process. */
export class ScriptedProcess {
  readonly name = 'scripted'
  readonly pid = 1
  readonly exited: Promise<ProcessExit>
  hasExited = false
  pools: readonly PoolStatus[] = []
  metrics: readonly MetricJson[] = []
  /** True: it answers no call any more. */
  isStalled = false
  /** Emits `pinged` after each ping. */
  readonly events = new EventEmitter()
  readonly #exit = Promise.withResolvers<ProcessExit>()
  readonly #onCommit: (generation: number) => void

  constructor(onCommit: (generation: number) => void = () => undefined) {
    this.#onCommit = onCommit
    this.exited = this.#exit.promise
  }

  readonly peer = {
    isClosed: false,
    notify: () => undefined,
    close: () => this.kill(),
    call: async (method: string, request: unknown, options?: { readonly timeoutMs: number }): Promise<unknown> => {
      if (this.isStalled) return stalled(options?.timeoutMs ?? 0)
      if (method === 'commit') this.#onCommit((request as { generation: number }).generation)
      if (method === 'ping') setImmediate(() => this.events.emit('pinged'))
      if (method === 'ping') return { rssBytes: 1, pools: this.pools, connections: 0, inFlight: 0 }
      if (method === 'metrics') return { metrics: this.metrics }
      return method === 'drain' ? { cut: 0 } : undefined
    },
  }

  kill(): void {
    this.hasExited = true
    this.#exit.resolve({ code: null, signal: 'SIGKILL' })
  }

  async stop(): Promise<ProcessExit> {
    this.kill()
    return this.exited
  }

  get asWorker(): WorkerProcess {
    return this as unknown as WorkerProcess
  }

  get asHost(): HostProcess {
    return this as unknown as HostProcess
  }
}

function stalled(timeoutMs: number): Promise<never> {
  return new Promise((_, reject) => setTimeout(() => reject(new Error('no answer in time')), timeoutMs))
}
