import { randomUUID } from 'node:crypto'
import { messageOf } from '@svc/core'
import type { RestartStatus } from '@svc/protocol'

/** A process that a rolling restart replaces. */
export interface Replaceable {
  /** Name of the process. */
  readonly id: string
  /** Starts a successor and, once it serves, ends the current process. On failure it rejects and keeps the current one. */
  replace(): Promise<void>
}

interface Restart {
  status: RestartStatus
  readonly ended: Promise<RestartStatus>
}

/** Restarts whose status can still be queried. */
const MAX_REMEMBERED = 20

/** Replaces processes one after another, so that their number never drops. */
export class RollingRestart {
  readonly #list: () => readonly Replaceable[]
  readonly #restarts = new Map<string, Restart>()
  #current: Restart | undefined
  /** Restarts of one process each, by its name. */
  readonly #ofOne = new Map<string, Restart>()
  #turn: Promise<unknown> = Promise.resolve()

  /** @param list returns the processes to replace; called once, at the start of a restart */
  constructor(list: () => readonly Replaceable[]) {
    this.#list = list
  }

  /** Starts a restart, or joins the running one. */
  begin(): RestartStatus {
    this.#current ??= this.#begin(this.#list())
    return this.#current.status
  }

  /** Starts to replace one process, or joins the restart that does. */
  beginOne(one: Replaceable): RestartStatus {
    const known = this.#ofOne.get(one.id) ?? this.#begin([one], () => this.#ofOne.delete(one.id))
    this.#ofOne.set(one.id, known)
    return known.status
  }

  #begin(all: readonly Replaceable[], onEnded?: () => void): Restart {
    const { promise, resolve } = Promise.withResolvers<RestartStatus>()
    const restart: Restart = {
      status: { id: randomUUID(), state: 'running', replaced: 0, total: all.length },
      ended: promise,
    }
    this.#restarts.set(restart.status.id, restart)
    const [oldest] = this.#restarts.keys()
    if (this.#restarts.size > MAX_REMEMBERED && oldest !== undefined) this.#restarts.delete(oldest)
    // One process at a time, over all restarts.
    this.#turn = this.#turn.then(async () => resolve(await this.#run(restart, all))).then(onEnded)
    return restart
  }

  /** Returns the status of a restart; with `wait`, once it has ended. Undefined: the id is unknown, or too old. */
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
    if (this.#current === restart) this.#current = undefined
    return restart.status
  }
}
