import { entryOf } from '@svc/core'
import type { ReadyHead } from '../exchange/ready-responses.ts'
import { readyFields } from '../exchange/ready-responses.ts'
import { BuiltHeads } from '../exchange/response-head.ts'

/** A response head that is safe to write. */
export interface NodeHead {
  readonly status: number
  /** Names and values in turn. Not to be changed: it may be shared. */
  readonly fields: readonly string[]
}

/** Heads as Node takes them; those of ready responses are built once too. */
export class NodeHeads extends BuiltHeads<NodeHead> {
  readonly #ofReady = new WeakMap<ReadyHead, NodeHead>()

  constructor(onProblem: (error: Error) => void) {
    super(({ status, headers }) => ({ status, fields: headers.flat() }), onProblem)
  }

  ofReady(head: ReadyHead): NodeHead {
    return entryOf(this.#ofReady, head, () => ({ status: head.status, fields: readyFields(head).flat() }))
  }
}
