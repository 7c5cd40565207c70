import { nativeThen } from '../context/context.ts'
import { jsonOf } from '../context/primordials.ts'
import { Emit, type EmitKind, type EmittedFacts, MAX_EMITTED_TAGS } from '../contract/isolate.ts'
import { host } from '../host/host.ts'
import { emittedError } from '../host/site-log.ts'
import { exactBuffer } from '../prelude/encoding/bytes.ts'

/** Status and header fields of an answer. */
export interface AnswerHead {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** Something of a request that makes its answer depend on more than the path. */
export type RequestRead = 'headers' | 'cookies' | 'query' | 'host' | 'no-store'

/** Collects what a run reads and wants for its caching. */
export class Facts {
  readonly reads = new Set<RequestRead>()
  readonly #tags = new Set<string>()
  #revalidate: number | false | undefined

  get tags(): ReadonlySet<string> {
    return this.#tags
  }

  /** Adds to the tags, as far as an answer may have them and one more: that one tells that there are too many. */
  addTags(tags: Iterable<string>): void {
    for (const tag of tags) {
      if (this.#tags.size === MAX_EMITTED_TAGS) return
      this.#tags.add(tag)
    }
  }

  /** Seconds, 0 or false (for ever); undefined: nothing was asked for. */
  get revalidate(): number | false | undefined {
    return this.#revalidate
  }

  /** Lowers `revalidate`: the shortest time asked for wins, false is longer than any. */
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

const settled = Promise.resolve()

/**
 * The answer to one request. Exactly one ending is emitted: `complete`, `finish`, `fail` or `verdict`; what comes after an ending or
 * after `drop` is dropped. Nothing here throws.
 */
export class Answer {
  readonly facts = new Facts()
  readonly #number: number
  readonly #onEnd: () => void
  #isEnded = false
  /** JSON of a head that waits for the first piece of the body. */
  #head: string | undefined
  #held: PromiseWithResolvers<void> | undefined

  /** @param onEnd called once, when the ending was emitted */
  constructor(requestNumber: number, onEnd: () => void) {
    this.#number = requestNumber
    this.#onEnd = onEnd
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  #emit(kind: EmitKind, a: string | undefined, b?: string | ArrayBuffer): void {
    if (!this.#isEnded) host().emit(this.#number, kind, a, b)
  }

  #emitPiece(kind: EmitKind, piece: string | ArrayBuffer): void {
    const head = this.#head
    this.#head = undefined
    if (head === undefined) this.#emit(kind, undefined, piece)
    else this.#emit(Emit.head, head, piece)
  }

  #sendHead(): void {
    const head = this.#head
    this.#head = undefined
    if (head !== undefined) this.#emit(Emit.head, head)
  }

  #end(kind: EmitKind, a: string, b?: string): void {
    if (this.#isEnded) return
    this.#sendHead()
    host().emit(this.#number, kind, a, b)
    this.drop()
    this.#onEnd()
  }

  /** Sends the whole answer at once and ends the request. The cheapest way out. */
  complete({ status, headers }: AnswerHead, body: string): void {
    this.#end(Emit.complete, jsonOf({ status, headers, facts: this.facts }), body)
  }

  /** Sends status and fields; body pieces and `finish` follow. They go out with the first piece when it comes in this turn. */
  head({ status, headers }: AnswerHead): void {
    if (this.#isEnded) return
    this.#head = jsonOf({ status, headers })
    // Each call of the host costs as much as many microtasks.
    void nativeThen.call(settled, () => this.#sendHead())
  }

  text(text: string): void {
    if (text !== '') this.#emitPiece(Emit.text, text)
  }

  /** Sends bytes. Only the view's own part of its buffer is copied out. */
  bytes(bytes: Uint8Array): void {
    if (bytes.byteLength > 0) this.#emitPiece(Emit.bytes, exactBuffer(bytes))
  }

  /** Ends an answer that began with `head`; `text` is the last piece of its body. */
  finish(text?: string): void {
    this.#end(Emit.finished, jsonOf(this.facts.toJSON()), text === '' ? undefined : text)
  }

  /** Ends the request with an error: nothing was emitted before, or the answer is broken off. */
  fail(error: unknown, where?: string): void {
    this.#end(Emit.failed, jsonOf(emittedError(error, where)))
  }

  /** Tells the site's log of an error that was dealt with (an error boundary was shown). */
  handled(error: unknown, where?: string): void {
    this.#emit(Emit.handled, jsonOf(emittedError(error, where)))
  }

  /** Ends a middleware run with a verdict (`MiddlewareVerdict` of the protocol package). */
  verdict(verdict: object): void {
    this.#end(Emit.verdict, jsonOf({ ...verdict, facts: this.facts }))
  }

  /** Resolves when the consumer has room; at once when it never asked to hold. Also resolves at the end. */
  ready(): Promise<void> {
    return this.#held?.promise ?? Promise.resolve()
  }

  hold(): void {
    this.#held ??= Promise.withResolvers<void>()
  }

  resume(): void {
    this.#held?.resolve()
    this.#held = undefined
  }

  /** Gives the answer up: nothing more is emitted. */
  drop(): void {
    this.#isEnded = true
    this.#head = undefined
    this.resume()
  }
}
