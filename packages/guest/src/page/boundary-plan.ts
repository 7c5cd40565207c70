import type { SegmentNode } from '@svc/site'

/** What stands in for the content of a segment. */
export type Replacement =
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'http'; readonly status: 401 | 403 | 404 }

/** Which kind of boundary a failure looks for. */
export type BoundaryKind = Replacement['kind']

/**
 * How a page is to be built. React's class boundaries do nothing on the server, so a failure is dealt with by building the
 * page again: first with `probe`, where every boundary of one kind is a Suspense boundary that tells which one caught the
 * failure, then with that segment's content replaced.
 */
export interface BoundaryPlan {
  readonly replaced: ReadonlyMap<SegmentNode, Replacement>
  /** undefined: boundaries cost nothing. */
  readonly probe: BoundaryKind | undefined
  /** Whether `loading.*` shows a fallback first. When the answer is collected whole there is nothing to show early. */
  readonly streams: boolean
}

export const collectedPlan: BoundaryPlan = { replaced: new Map(), probe: undefined, streams: false }
export const streamedPlan: BoundaryPlan = { replaced: new Map(), probe: undefined, streams: true }
