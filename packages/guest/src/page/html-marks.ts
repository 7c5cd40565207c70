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
