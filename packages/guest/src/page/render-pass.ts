import { nativeThen } from '../context/context.ts'
import { type HtmlSink, type HtmlSource, renderElement } from '../react/react-runtime.ts'
import type { RequestScope } from '../scope/request-scope.ts'

/** One render of an element by React, up to the first byte. */
export interface RenderPass {
  /** Every error so far, by the digest that React was given for it: its index. */
  readonly errors: readonly unknown[]
  /** The end of the shell. */
  readonly outcome: /** Nothing is pending; `source` can be collected. */
    | { readonly kind: 'complete'; readonly source: HtmlSource }
    /** The shell is complete, something below it is pending. */
    | { readonly kind: 'pending'; readonly source: HtmlSource }
    /** The shell threw. */
    | { readonly kind: 'failed'; readonly error: unknown }
}

/** Turns of the microtask queue that pending data gets before the shell goes out without it. */
const patience = 48

/**
 * Renders until the shell can be written. With `waitForAll` it waits for everything; else data that only needs microtasks (a
 * page that awaits its params) is still waited for, so that it needs no fallback and no second chunk. Never rejects.
 *
 * No async function: in an isolate each is a generator with half a dozen closures, and this runs for every page.
 */
export function renderPass(
  scope: RequestScope,
  element: unknown,
  options: { readonly waitForAll: boolean; readonly prefix?: string },
): Promise<RenderPass> {
  const errors: unknown[] = []
  const onError = (error: unknown) => String(errors.push(error) - 1)
  // Boundaries that are done are written in place, whatever their size.
  const settings = { onError, progressiveChunkSize: Number.MAX_SAFE_INTEGER }
  const own = options.prefix === undefined ? settings : { ...settings, identifierPrefix: options.prefix }
  return scope
    .run(() => renderElement(element, own))
    .then(
      (source) => settled(source, options.waitForAll, errors),
      (error: unknown) => ({ errors, outcome: { kind: 'failed', error } }),
    )
}

const nextTurn = Promise.resolve()

function settled(source: HtmlSource, waitForAll: boolean, errors: readonly unknown[]): Promise<RenderPass> {
  return new Promise((resolve) => {
    let isSettled = false
    const settle = (kind: 'complete' | 'pending') => {
      if (!isSettled) resolve({ errors, outcome: { kind, source } })
      isSettled = true
    }
    const complete = () => settle('complete')
    // A rejection is reported by `onError` and by the sink.
    source.allReady.then(complete, complete)
    let turns = waitForAll ? 0 : patience
    // Runs nothing of the site's, so it needs no context.
    const turn = (): void => {
      if (isSettled) return
      if (--turns < 0) settle('pending')
      else void nativeThen.call(nextTurn, turn)
    }
    if (!waitForAll) turn()
  })
}

/**
 * Collects a page that is complete; a document gets its document type. Returns the text at once when React writes at once,
 * as the snapshot's does. Throws or rejects when React fails while writing.
 */
export function collect(scope: RequestScope, source: HtmlSource): string | Promise<string> {
  const sink = new CollectingSink()
  scope.run(() => source.pull(sink))
  return sink.result()
}

class CollectingSink implements HtmlSink {
  #html = ''
  #state: 'open' | 'ended' | 'failed' = 'open'
  #error: unknown
  #waiting: PromiseWithResolvers<string> | undefined

  write(text: string): boolean {
    // Decided by the first piece: a look at the whole text would make V8 join it once more.
    this.#html = this.#html === '' ? withDoctype(text) : this.#html + text
    return true
  }

  flush(): void {
    // All of it is wanted at once.
  }

  end(): void {
    this.#state = 'ended'
    this.#waiting?.resolve(this.#html)
  }

  error(error: unknown): void {
    this.#state = 'failed'
    this.#error = error
    this.#waiting?.reject(error)
  }

  result(): string | Promise<string> {
    if (this.#state === 'ended') return this.#html
    if (this.#state === 'failed') throw this.#error
    this.#waiting = Promise.withResolvers()
    return this.#waiting.promise
  }
}

/** Puts the document type before the beginning of a document; React writes it in some of its builds only. */
export function withDoctype(beginning: string): string {
  return beginning.startsWith('<html') ? `<!DOCTYPE html>${beginning}` : beginning
}
