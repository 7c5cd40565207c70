import { randomUUID } from 'node:crypto'
import { messageOf } from '@svc/core'
import type { RestartStatus } from '@svc/protocol'

/** One of the things that a rolling restart replaces. */
export interface Replaceable {
  /** Starts a successor and, when it serves, lets the present one end. Rejects, and keeps the present one, when it cannot. */
  replace(): Promise<void>
}

interface Restart {
  status: RestartStatus
  readonly ended: Promise<RestartStatus>
}

/** Restarts that can still be asked for. */
const MAX_REMEMBERED = 20

/** Replaces what there is, one after another, so that there is never less of it. */
export class RollingRestart {
  readonly #list: () => readonly Replaceable[]
  readonly #restarts = new Map<string, Restart>()
  #current: Restart | undefined

  /** @param list what is to be replaced: asked once, when a restart begins */
  constructor(list: () => readonly Replaceable[]) {
    this.#list = list
  }

  /** Begins a restart, or joins the one under way. */
  begin(): RestartStatus {
    if (this.#current !== undefined) return this.#current.status
    const all = this.#list()
    const { promise, resolve } = Promise.withResolvers<RestartStatus>()
    const restart: Restart = {
      status: { id: randomUUID(), state: 'running', replaced: 0, total: all.length },
      ended: promise,
    }
    this.#current = restart
    this.#restarts.set(restart.status.id, restart)
    const [oldest] = this.#restarts.keys()
    if (this.#restarts.size > MAX_REMEMBERED && oldest !== undefined) this.#restarts.delete(oldest)
    this.#run(restart, all).then(resolve, resolve)
    return restart.status
  }

  /** What became of a restart; `wait`: once it has ended. Undefined: there was none of that id, or long ago. */
  async status(id: string, wait: boolean): Promise<RestartStatus | undefined> {
    const restart = this.#restarts.get(id)
    return wait ? restart?.ended : restart?.status
  }

  async #run(restart: Restart, all: readonly Replaceable[]): Promise<RestartStatus> {
    try {
      for (const one of all) {
        await one.replace()
        restart.status = { ...restart.status, replaced: restart.status.replaced + 1 }
      }
      restart.status = { ...restart.status, state: 'done' }
    } catch (error) {
      restart.status = { ...restart.status, state: 'failed', error: messageOf(error) }
    }
    this.#current = undefined
    return restart.status
  }
}
