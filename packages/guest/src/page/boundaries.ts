import type { SegmentNode } from '@svc/site'

/** Replacement of the content of a segment. */
export type Replacement =
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'http'; readonly status: 401 | 403 | 404 }

/** Which kind of boundary a failure looks for. */
export type BoundaryKind = Replacement['kind']

/**
 * Instructions for one build of a page. React's class boundaries do nothing on the server, so a failure is dealt with by building the
 * page again: first with `probe`, where every boundary of one kind is a Suspense boundary that tells which one caught the
 * failure, then with that segment's content replaced.
 */
export interface BoundaryPlan {
  readonly replaced: ReadonlyMap<SegmentNode, Replacement>
  /** undefined: boundaries cost nothing. */
  readonly probe: BoundaryKind | undefined
  /** True if `loading.*` shows a fallback first. A response that is collected whole shows none. */
  readonly streams: boolean
}

export const collectedPlan: BoundaryPlan = { replaced: new Map(), probe: undefined, streams: false }
export const streamedPlan: BoundaryPlan = { replaced: new Map(), probe: undefined, streams: true }

/** Begins a mark. NUL cannot occur in a document, so a site's own text is never taken for one. */
const markPrefix = '\0svc:'

/** A boundary of a page with the segments around it, innermost first. */
export interface BoundaryPlace {
  readonly chain: readonly SegmentNode[]
}

/**
 * Numbers the Suspense boundaries of a page. A mark is the first text of a boundary's fallback; the writer of the answer
 * takes it out again and knows by it which segment the boundary belongs to.
 */
export class BoundaryMarks {
  readonly #places: BoundaryPlace[] = []

  /** Returns the text of a new mark. */
  add(place: BoundaryPlace): string {
    this.#places.push(place)
    return `${markPrefix}${this.#places.length - 1}`
  }

  /** The place of a mark's text; undefined when it is none. */
  find(text: string): BoundaryPlace | undefined {
    return text.startsWith(markPrefix) ? this.#places[Number(text.slice(markPrefix.length))] : undefined
  }
}

/**
 * Reads what React writes about its Suspense boundaries. Works on text, since a site's own copy of React hands over pieces
 * of any length. The forms are those of react-dom 19; golden tests pin them.
 */

/** A boundary that is still waiting: group 1 its id, group 2 our mark. */
export const pendingBoundary = /<!--\$\?--><template id="([^"]*)"><\/template>(\0svc:\d+)?/
/** A boundary that failed before it was written: group 1 the digest, group 2 our mark. Its fallback follows. */
export const failedBoundary = /<!--\$!--><template(?: data-dgst="([^"]*)")?[^>]*><\/template>(\0svc:\d+)?/
/** The instruction to give a boundary up that was written as waiting: group 1 its id, group 2 the digest as a JSON string. */
export const giveUpScript =
  /<script[^>]*>(?:\$RX=function\(b,c,d,e,f\)\{[^<]*?\};)?;?\$RX\("([^"]*)"(?:,("(?:[^"\\]|\\.)*"))?[^<]*?\)<\/script>/

const boundaryEdge = /<!--(\/?)\$[?!]?-->/g

/** Index behind the end of the boundary that is open at `from`; -1: the text ends before. */
export function endOfBoundary(text: string, from: number): number {
  let depth = 1
  boundaryEdge.lastIndex = from
  for (let match = boundaryEdge.exec(text); match !== null; match = boundaryEdge.exec(text)) {
    depth += match[1] === '/' ? -1 : 1
    if (depth === 0) return boundaryEdge.lastIndex
  }
  return -1
}

/** One failed boundary in a collected page. */
interface FailedBoundary {
  readonly digest: string
  readonly mark: string | undefined
}

/** Finds the failed boundaries of a collected page. */
export function failedBoundaries(html: string): readonly FailedBoundary[] {
  return [...html.matchAll(new RegExp(failedBoundary, 'g'))].map((match) => ({ digest: match[1] ?? '', mark: match[2] }))
}
