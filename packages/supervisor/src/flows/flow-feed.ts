import { type CallContext, guard, LossyChunks, type RpcPeer } from '@svc/core'
import { type Flow, type FlowFilter, flowBatch, isSelected, type masterMethods, type workerMethods } from '@svc/protocol'

/** A worker that records flows. */
interface FlowSource {
  readonly peer: Pick<RpcPeer<typeof masterMethods, typeof workerMethods>, 'open'>
}

/** A reader that gets new flows. */
interface Follower {
  readonly filter: FlowFilter
  readonly chunks: LossyChunks
}

/**
 * Passes on flows from all workers to readers. The workers send them only while there is a reader. No worker waits for another: one that
 * hangs sends nothing, and one that ends is followed no more.
 */
export class FlowFeed {
  readonly #workers: () => readonly FlowSource[]
  readonly #followers = new Set<Follower>()
  /** The functions that end the call of each worker. */
  readonly #followed = new Map<FlowSource, () => void>()

  /** @param workers those that serve */
  constructor(workers: () => readonly FlowSource[]) {
    this.#workers = workers
  }

  /** Sends each matching flow to the caller from now on. Resolves when the caller is gone. */
  follow(filter: FlowFilter, call: Pick<CallContext, 'send' | 'drained' | 'onAbort'>): Promise<undefined> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const follower = { filter, chunks: new LossyChunks(call) }
    this.#followers.add(follower)
    for (const worker of this.#workers()) this.#begin(worker)
    call.onAbort(() => {
      this.#followers.delete(follower)
      if (this.#followers.size === 0) this.#end()
      resolve(undefined)
    })
    return promise
  }

  /** A worker has begun to serve. */
  joined(worker: FlowSource): void {
    if (this.#followers.size > 0) this.#begin(worker)
  }

  #begin(worker: FlowSource): void {
    if (this.#followed.has(worker)) return
    const onChunk = (dropped: unknown, batch: Uint8Array | undefined) => {
      this.#take(guard.number(dropped, 'missing flows'), batch ?? Buffer.from('[]'))
      return true
    }
    const call = worker.peer.open('followFlows', undefined, { timeoutMs: Number.POSITIVE_INFINITY, onChunk })
    this.#followed.set(worker, () => call.abort())
    const ended = () => void this.#followed.delete(worker)
    call.reply.then(ended, ended)
  }

  #end(): void {
    for (const end of this.#followed.values()) end()
    this.#followed.clear()
  }

  #take(dropped: number, batch: Uint8Array): void {
    const flows = flowBatch(JSON.parse(Buffer.from(batch).toString()), 'flows of a worker')
    for (const follower of this.#followers) {
      if (dropped > 0) follower.chunks.skip(dropped)
    }
    for (const flow of flows) this.#offer(flow)
  }

  #offer(flow: Flow): void {
    let text: string | undefined
    for (const { filter, chunks } of this.#followers) {
      if (!isSelected(flow, filter)) continue
      text ??= JSON.stringify(flow)
      chunks.send(text)
    }
  }
}
