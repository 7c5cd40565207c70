import type { PurgeOrder } from '@svc/cache'
import { RenderError } from '../../errors/errors.ts'
import { type PurgeTargets, scopesOf } from './purge-scopes.ts'

/** Most tags and globs of one order. */
const MAX_TARGETS = 256
/** Orders of one label that may wait for the one in flight. */
const MAX_WAITING = 32

interface Batch {
  readonly tags: Set<string>
  readonly globs: Set<string>
  readonly done: PromiseWithResolvers<void>
}

function newBatch(): Batch {
  return { tags: new Set(), globs: new Set(), done: Promise.withResolvers<void>() }
}

/** Carries out an order in the whole instance; resolves when it is done. */
export type SendOrder = (order: PurgeOrder) => Promise<unknown>

/**
 * The purges that code of sites orders. One order of a label is in flight at a time; orders that come meanwhile are merged, so
 * that a site that purges with every request costs the master no more than a few orders.
 */
export class PurgeOrders {
  readonly #send: SendOrder
  readonly #waiting = new Map<string, Batch[]>()

  constructor(send: SendOrder) {
    this.#send = send
  }

  /** True if there are orders that have not been carried out yet. */
  get isBusy(): boolean {
    return this.#waiting.size > 0
  }

  /**
   * Resolves when nothing that the targets name is served any more.
   * @throws RENDER_PURGE_REFUSED when too many wait; the error of the master when it fails
   */
  async order(label: string, targets: PurgeTargets): Promise<void> {
    const { tags, globs } = targets
    if (tags.length + globs.length === 0) return
    const items = [...tags.map((tag) => ['tags', tag] as const), ...globs.map((glob) => ['globs', glob] as const)]
    const batches = this.#place(label, items)
    await Promise.all([...batches].map(({ done }) => done.promise))
  }

  #place(label: string, items: readonly (readonly ['tags' | 'globs', string])[]): Set<Batch> {
    const waiting = this.#waiting.get(label)
    const queue = waiting ?? []
    const placed = new Set<Batch>()
    const room = (MAX_WAITING - queue.length) * MAX_TARGETS
    if (items.length > room) {
      throw new RenderError(
        'RENDER_PURGE_REFUSED',
        'too many purges of this site are waiting: purge fewer tags, or a whole layout',
      )
    }
    for (const [kind, item] of items) {
      const last = queue.at(-1)
      const batch = last !== undefined && last.tags.size + last.globs.size < MAX_TARGETS ? last : newBatch()
      if (batch !== last) queue.push(batch)
      batch[kind].add(item)
      placed.add(batch)
    }
    if (waiting === undefined) {
      this.#waiting.set(label, queue)
      void this.#run(label, queue)
    }
    return placed
  }

  /** Sends what waits, one order after the other. Never rejects: each batch has its own outcome. */
  async #run(label: string, queue: Batch[]): Promise<void> {
    // Requests of one turn share an order.
    await Promise.resolve()
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) {
      const targets = { tags: [...batch.tags], globs: [...batch.globs] }
      try {
        await this.#send({ layers: ['isr'], scopes: scopesOf(label, targets), mode: 'drop' })
        batch.done.resolve()
      } catch (error) {
        batch.done.reject(error)
      }
    }
    this.#waiting.delete(label)
  }
}
