import type { Route } from '@svc/site'
import { currentContext } from '../context/context.ts'
import { type BeginKind, type BeginRequest, type EmittedFacts, MAX_EMITTED_TAGS } from '../contract/isolate.ts'
import type { AbortSignal } from '../prelude/events/abort-signal.ts'
import type { Request } from '../prelude/fetch/request.ts'

/** Status and header fields of an answer. */
export interface AnswerHead {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** Something of a request that makes its answer depend on more than the path. */
export type RequestRead = 'headers' | 'cookies' | 'query' | 'host' | 'no-store'

/** Collects what a run reads and wants for its caching. */
export interface FactsCollector {
  readonly reads: Set<RequestRead>
  readonly tags: ReadonlySet<string>
  /** Adds to the tags, as far as an answer may have them and one more: that one tells that there are too many. */
  addTags(tags: Iterable<string>): void
  /** Seconds, 0 or false (for ever); undefined: nothing was asked for. Set it with `limitRevalidate`. */
  readonly revalidate: number | false | undefined
  /** Lowers `revalidate`: the shortest time asked for wins, false is longer than any. */
  limitRevalidate(value: number | false): void
}

/**
 * One request as a runner sees it. Exactly one ending is emitted: `emitComplete`, `finish`, `fail` or `verdict`; what comes
 * after an ending or after an abort is dropped. Nothing here throws.
 */
export interface GuestRequest {
  readonly number: number
  readonly kind: BeginKind
  readonly begin: BeginRequest
  /** The route named by the host; undefined for middleware and for a path that no route matches. */
  readonly route: Route | undefined
  /** The WHATWG request, made on first use. Its body is a stream that is filled as the host hands pieces over. */
  readonly request: Request
  /** Fires when the client is gone or the deadline has passed. */
  readonly signal: AbortSignal
  /** Calls `task` when the request is aborted, before `signal` fires: cheaper than making a signal. The last one set counts. */
  onAbort(task: () => void): void
  readonly isEnded: boolean
  readonly facts: FactsCollector
  /** Values that helper modules keep for the request, by keys of their own. */
  readonly locals: Map<unknown, unknown>
  /** Sends the whole answer at once and ends the request. The cheapest way out. */
  emitComplete(head: AnswerHead, body: string): void
  /** Sends status and fields; body pieces and `finish` follow. They go out with the first piece when it comes in this turn. */
  emitHead(head: AnswerHead): void
  emitText(text: string): void
  /** Sends bytes. Only the view's own part of its buffer is copied out. */
  emitBytes(bytes: Uint8Array): void
  /** Ends an answer that began with `emitHead`; `text` is the last piece of its body. */
  finish(text?: string): void
  /** Ends the request with an error: nothing was emitted before, or the answer is broken off. */
  fail(error: unknown, where?: string): void
  /** Tells the site's log of an error that was dealt with (an error boundary was shown). */
  handled(error: unknown, where?: string): void
  /** Ends a middleware run with a verdict (`MiddlewareVerdict` of the protocol package). */
  verdict(verdict: object): void
  /** Resolves when the consumer has room; at once when it never asked to hold. Also resolves on abort. */
  ready(): Promise<void>
  /** Runs `task` in this request's context after the ending was emitted. Its failure goes to the site's log. */
  after(task: () => unknown): void
}

/** Runs requests of one kind. A throw or a rejection is like `request.fail(error)`. */
export type Runner = (request: GuestRequest) => void | Promise<void>

/** Collects facts of one request. */
export class Facts implements FactsCollector {
  readonly reads = new Set<RequestRead>()
  readonly #tags = new Set<string>()
  #revalidate: number | false | undefined

  get tags(): ReadonlySet<string> {
    return this.#tags
  }

  addTags(tags: Iterable<string>): void {
    for (const tag of tags) {
      if (this.#tags.size === MAX_EMITTED_TAGS) return
      this.#tags.add(tag)
    }
  }

  get revalidate(): number | false | undefined {
    return this.#revalidate
  }

  limitRevalidate(value: number | false): void {
    const known = this.#revalidate
    if (known === undefined || known === false) this.#revalidate = known === false && value === false ? false : value
    else if (value !== false) this.#revalidate = Math.min(known, value)
  }

  toJSON(): EmittedFacts {
    const base = { reads: [...this.reads], tags: [...this.#tags] }
    return this.#revalidate === undefined ? base : { ...base, revalidate: this.#revalidate }
  }
}

/** Returns the request that the running code works for; undefined outside of requests. */
export function currentRequest(): GuestRequest | undefined {
  // Only `RunningRequest` makes contexts with an owner.
  return currentContext()?.request as GuestRequest | undefined
}
