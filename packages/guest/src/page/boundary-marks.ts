import type { SegmentNode } from '@svc/site'

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
