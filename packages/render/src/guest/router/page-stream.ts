import type { GuestRequest, HtmlSource } from '../port.ts'
import { withDoctype } from './render-pass.ts'
import { completionText, type StreamFailure, StreamFilter } from './streamed-html.ts'

/** Renders what stands in for a boundary that failed after the page had begun. Never rejects. */
export type RenderFailure = (failure: StreamFailure) => Promise<LatePart>

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
  #text = ''
  #hasBegun = false
  #hasCompleted = false

  constructor(guest: GuestRequest, renderFailure: RenderFailure) {
    this.#guest = guest
    this.#renderFailure = renderFailure
  }

  /** Writes everything. Resolves when the last part is sent; rejects when React fails outside of any boundary. */
  async run(source: HtmlSource): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      source.pull({
        write: (text) => {
          this.#text += text
          return true
        },
        flush: () => this.#flush(),
        end: resolve,
        error: reject,
      })
    })
    await this.#finish()
  }

  #flush(): void {
    const isFirst = !this.#hasBegun && this.#text !== ''
    this.#hasBegun ||= isFirst
    const { text, failures } = this.#filter.push(isFirst ? withDoctype(this.#text) : this.#text)
    this.#text = ''
    for (const failure of failures) this.#complete(failure)
    if (text.endsWith('</html>') || text.endsWith('</body>')) this.#text = text
    else if (text !== '') this.#guest.emitText(text)
  }

  /** Late parts go before the end of the document, in the order in which they get ready. */
  async #finish(): Promise<void> {
    const { text, failures } = this.#filter.push(this.#text)
    const rest = this.#filter.end()
    for (const failure of [...failures, ...rest.failures]) this.#complete(failure)
    const all = text + rest.text
    const tail = closing.exec(all)?.[0] ?? ''
    const body = all.slice(0, all.length - tail.length)
    if (body !== '') this.#guest.emitText(body)
    while (this.#late.size > 0) await Promise.all(this.#late)
    if (tail !== '') this.#guest.emitText(tail)
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
