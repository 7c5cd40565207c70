import { entryOf } from '@svc/core'
import type { ReadyHead } from '../exchange/ready-responses.ts'
import { readyFields } from '../exchange/ready-responses.ts'
import { BuiltHeads } from '../exchange/response-head.ts'

/** The fields of a response as HTTP/2 writes them. */
interface Http2Fields {
  /** Content-Length among them. */
  readonly length: number | undefined
  /** Names and values in turn, the status first. */
  readonly fields: string[]
  /** Place of the date. */
  readonly datePlace: number
  /** Time of the date. */
  second: number
}

/** A response head that is safe to write. */
export interface NodeHead {
  readonly status: number
  /** Names and values in turn. Not to be changed: it may be shared. */
  readonly fields: readonly string[]
  /** The same with their length as HTTP/2 writes them, once they have been sent; written by `Http2Wire` alone. */
  http2: Http2Fields | undefined
}

/** Heads as Node takes them; those of ready responses are built once too. */
export class NodeHeads extends BuiltHeads<NodeHead> {
  readonly #ofReady = new WeakMap<ReadyHead, NodeHead>()

  constructor(onProblem: (error: Error) => void) {
    super(({ status, headers }) => ({ status, fields: headers.flat(), http2: undefined }), onProblem)
  }

  ofReady(head: ReadyHead): NodeHead {
    return entryOf(this.#ofReady, head, () => ({ status: head.status, fields: readyFields(head).flat(), http2: undefined }))
  }
}
