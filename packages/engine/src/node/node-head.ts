import type { HeaderList, ResponseHead } from '@svc/http'
import type { ReadyHead } from '../exchange/ready-responses.ts'
import { readyFields } from '../exchange/ready-responses.ts'
import { safeHead } from '../exchange/response-head.ts'

/** A response head that is safe to write. */
export interface NodeHead {
  readonly status: number
  /** Names and values in turn. Not to be changed: it may be shared. */
  readonly fields: readonly string[]
}

/** Makes heads safe; those that are sent again and again (frozen lists, ready responses) once. */
export class NodeHeads {
  readonly #onProblem: (error: Error) => void
  readonly #ofLists = new WeakMap<HeaderList, NodeHead>()
  readonly #ofReady = new WeakMap<ReadyHead, NodeHead>()

  /** @param onProblem called for each field that is dropped because it may not be written */
  constructor(onProblem: (error: Error) => void) {
    this.#onProblem = onProblem
  }

  of(head: ResponseHead): NodeHead {
    if (!Object.isFrozen(head.headers)) return this.#build(head)
    const known = this.#ofLists.get(head.headers)
    if (known !== undefined && known.status === head.status) return known
    const made = this.#build(head)
    this.#ofLists.set(head.headers, made)
    return made
  }

  ofReady(head: ReadyHead): NodeHead {
    const known = this.#ofReady.get(head)
    if (known !== undefined) return known
    const made = { status: head.status, fields: readyFields(head).flat() }
    this.#ofReady.set(head, made)
    return made
  }

  #build(head: ResponseHead): NodeHead {
    const { status, headers } = safeHead(head, this.#onProblem)
    return { status, fields: headers.flat() }
  }
}
