import type { HtmlSource } from '../react/react-runtime.ts'
import type { Answer } from '../request/answer.ts'
import { endOfBoundary, failedBoundary, giveUpScript, pendingBoundary } from './boundaries.ts'
import { withDoctype } from './render-pass.ts'

/** A boundary that failed while its page was being sent. */
export interface StreamFailure {
  /** Digest that React was given for the error. */
  readonly digest: string
  /** Our mark of the boundary; undefined for a Suspense of the site's own. */
  readonly mark: string | undefined
  /** Id of the element before the content that is to be replaced. */
  readonly target: string
}

/** Text to send, and the failures that were found in it. */
interface FilteredHtml {
  readonly text: string
  readonly failures: readonly StreamFailure[]
}

const token = new RegExp(`${pendingBoundary.source}|${failedBoundary.source}|${giveUpScript.source}`)

/**
 * Filters a page that is being streamed: takes our marks out, and takes out every instruction of React to give a boundary
 * up, so that the router can complete that boundary with the segment's `error.*` instead.
 */
class StreamFilter {
  readonly #marks = new Map<string, string | undefined>()
  #held = ''
  #inlineFailures = 0

  /** Takes the next text. Holds back the beginning of a possible token until more text comes. */
  push(text: string): FilteredHtml {
    if (this.#held === '' && isPlain(text)) return { text, failures: [] }
    return this.#filter(this.#held + text, false)
  }

  /** The rest: nothing is held any longer. */
  end(): FilteredHtml {
    return this.#filter(this.#held, true)
  }

  #filter(input: string, isLast: boolean): FilteredHtml {
    const failures: StreamFailure[] = []
    let rest = input
    let output = ''
    for (let match = token.exec(rest); match !== null; match = token.exec(rest)) {
      const end = match.index + match[0].length
      if (end === rest.length && !isLast && match[5] === undefined) break
      const piece = this.#replace(match, rest, failures)
      if (piece === undefined) break
      output += rest.slice(0, match.index) + piece.text
      rest = rest.slice(match.index + match[0].length + piece.skip)
    }
    const cut = isLast ? rest.length : holdFrom(rest)
    this.#held = rest.slice(cut)
    return { text: output + rest.slice(0, cut), failures }
  }

  /** Returns what stands for a token, and how much behind it is swallowed; undefined: more text is needed. */
  #replace(match: RegExpExecArray, rest: string, failures: StreamFailure[]): { text: string; skip: number } | undefined {
    const [whole, pendingId, pendingMark, digest, failedMark, givenUpId, givenUpDigest] = match
    if (pendingId !== undefined) {
      this.#marks.set(pendingId, pendingMark)
      return { text: pendingMark === undefined ? whole : whole.slice(0, -pendingMark.length), skip: 0 }
    }
    if (givenUpId !== undefined) {
      failures.push({ digest: digestText(givenUpDigest), mark: this.#marks.get(givenUpId), target: givenUpId })
      return { text: '', skip: 0 }
    }
    const from = match.index + whole.length
    const end = endOfBoundary(rest, from)
    if (end < 0) return undefined
    const target = `E:${this.#inlineFailures++}`
    failures.push({ digest: digest ?? '', mark: failedMark, target })
    return { text: `<!--$?--><template id="${target}"></template><!--/$-->`, skip: end - from }
  }
}

const pendingEdge = '$?-->'

/**
 * True if a text has nothing for the filter, as nearly all have. Looks for strings that are rare in documents, and so takes a
 * fraction of the time of the expressions: no mark of ours, no failed boundary, no abandoned boundary, and at the end neither an
 * open script nor a waiting boundary whose mark may follow.
 */
function isPlain(text: string): boolean {
  if (!text.endsWith('>') || text.includes('\0') || text.includes('$!') || text.includes('$RX')) return false
  const script = text.includes('<script') ? text.lastIndexOf('<script') : -1
  if (script >= 0 && text.indexOf('</script>', script) < 0) return false
  let pending = -1
  for (let at = text.indexOf(pendingEdge); at >= 0; at = text.indexOf(pendingEdge, at + 1)) pending = at
  const end = pending < 0 ? 0 : text.indexOf('</template>', pending)
  return end >= 0 && !text.endsWith('</template>')
}

function digestText(json: string | undefined): string {
  return json === undefined ? '' : String(JSON.parse(json))
}

/** Index in `text` from which an incomplete token may begin; complete ones were taken out before. */
function holdFrom(text: string): number {
  const script = text.lastIndexOf('<script')
  const openScript = script >= 0 && text.indexOf('</script>', script) < 0 ? script : -1
  const starts = [openScript, text.search(/<!--\$[?!]/), text.search(beginning)].filter((index) => index >= 0)
  return Math.min(text.length, ...starts)
}

const beginning = /<(?:!(?:-(?:-\$?)?)?|s(?:c(?:r(?:i(?:pt?)?)?)?)?)?$/

/** Defines how a late part of a page takes its place; sent once per page, before the first late part. */
const completeFunction =
  '$SC=function(b,s){var t=document.getElementById(b),c=document.getElementById(s);if(c){c.remove();if(t){' +
  'var p=t.previousSibling,d=0,n=t,x;for(;n;n=x){x=n.nextSibling;if(n.nodeType===8){var v=n.data;' +
  'if(v==="/$"){if(d===0)break;d--}else if(v==="$"||v==="$?"||v==="$!")d++}n.remove()}' +
  'while(c.firstChild)n.parentNode.insertBefore(c.firstChild,n);if(p&&p.nodeType===8)p.data="$"}}};'

/** The text that completes a boundary with other content: a hidden part and the instruction to put it in place. */
function completionText(target: string, html: string, isFirst: boolean): string {
  const part = `S:${target}`
  return `<div hidden id="${part}">${html}</div><script>${isFirst ? completeFunction : ''}$SC("${target}","${part}")</script>`
}

/** Renders the replacement of a boundary that failed after the page had begun. Never rejects. */
type RenderFailure = (failure: StreamFailure) => Promise<LatePart>

/** Replacement of a failed boundary. */
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
  readonly #answer: Answer
  readonly #renderFailure: RenderFailure
  readonly #filter = new StreamFilter()
  readonly #late = new Set<Promise<void>>()
  /** Text that React has written and not flushed. */
  #text = ''
  /** The end of the document, filtered: kept back until the last late part is sent. */
  #end = ''
  #hasBegun = false
  #hasCompleted = false

  constructor(answer: Answer, renderFailure: RenderFailure) {
    this.#answer = answer
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
    if (!isEnd) this.#answer.text(all)
  }

  /** Late parts go before the end of the document, in the order in which they get ready. */
  #finish(): string | Promise<string> {
    const { text, failures } = this.#filter.push(this.#text)
    const rest = this.#filter.end()
    for (const failure of [...failures, ...rest.failures]) this.#complete(failure)
    const all = this.#end + text + rest.text
    if (this.#late.size === 0) return all
    const tail = closing.exec(all)?.[0] ?? ''
    this.#answer.text(all.slice(0, all.length - tail.length))
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
      if (beside + text !== '') this.#answer.text(beside + text)
    })
    this.#late.add(part)
  }
}
