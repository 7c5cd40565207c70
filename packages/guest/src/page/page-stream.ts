import type { HtmlSource } from '../react/html-source.ts'
import type { GuestRequest } from '../request/guest-request.ts'
import { withDoctype } from './render-pass.ts'
import { completionText, type StreamFailure, StreamFilter } from './streamed-html.ts'

/** Renders what stands in for a boundary that failed after the page had begun. Never rejects. */
type RenderFailure = (failure: StreamFailure) => Promise<LatePart>

/** What is sent for a failed boundary. */
export interface LatePart {
  /** Content of the boundary; undefined: the fallback may stay (the page is about to be left). */
  readonly html: string | undefined
  /** Text to send beside it, e.g. a meta tag. */
  readonly beside: string
}

/** Ends of a document: kept back until the last late part is sent. */
const closing = /(?:<\/body>)?(?:<\/html>)?$/

/** Streams a page: shell first, then each part as it comes, failed parts as `renderFailure` wants them. */
export class PageStream {
  readonly #guest: GuestRequest
  readonly #renderFailure: RenderFailure
  readonly #filter = new StreamFilter()
  readonly #late = new Set<Promise<void>>()
  /** What React has written and not flushed. */
  #text = ''
  /** The end of the document, filtered: kept back until the last late part is sent. */
  #end = ''
  #hasBegun = false
  #hasCompleted = false

  constructor(guest: GuestRequest, renderFailure: RenderFailure) {
    this.#guest = guest
    this.#renderFailure = renderFailure
  }

  /**
   * Writes everything but the last piece, which it resolves with: that goes out with the end of the answer. Rejects when React
   * fails outside of any boundary.
   */
  run(source: HtmlSource): Promise<string> {
    const written = new Promise<void>((resolve, reject) => {
      source.pull({
        write: (text) => {
          this.#write(text)
          return true
        },
        flush: () => this.#flush(),
        end: resolve,
        error: reject,
      })
    })
    return written.then(() => this.#finish())
  }

  #write(text: string): void {
    if (this.#hasBegun) this.#text += text
    else {
      this.#text = withDoctype(text)
      this.#hasBegun = true
    }
  }

  #flush(): void {
    const { text, failures } = this.#filter.push(this.#text)
    this.#text = ''
    for (const failure of failures) this.#complete(failure)
    const all = this.#end + text
    const isEnd = all.endsWith('</html>') || all.endsWith('</body>')
    this.#end = isEnd ? all : ''
    if (!isEnd) this.#guest.emitText(all)
  }

  /** Late parts go before the end of the document, in the order in which they get ready. */
  #finish(): string | Promise<string> {
    const { text, failures } = this.#filter.push(this.#text)
    const rest = this.#filter.end()
    for (const failure of [...failures, ...rest.failures]) this.#complete(failure)
    const all = this.#end + text + rest.text
    if (this.#late.size === 0) return all
    const tail = closing.exec(all)?.[0] ?? ''
    this.#guest.emitText(all.slice(0, all.length - tail.length))
    return this.#lateParts().then(() => tail)
  }

  async #lateParts(): Promise<void> {
    while (this.#late.size > 0) await Promise.all(this.#late)
  }

  #complete(failure: StreamFailure): void {
    const part = this.#renderFailure(failure).then(({ html, beside }) => {
      this.#late.delete(part)
      const text = html === undefined ? '' : completionText(failure.target, html, !this.#hasCompleted)
      this.#hasCompleted ||= html !== undefined
      if (beside + text !== '') this.#guest.emitText(beside + text)
    })
    this.#late.add(part)
  }
}
