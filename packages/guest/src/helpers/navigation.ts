import type { SegmentNode } from '@svc/site'
import { URLSearchParams } from '../prelude/fetch/url.ts'
import { LayoutContext, useContext } from '../react/react-runtime.ts'
import { controlFlowOf, httpError, redirectError } from '../scope/control-flow.ts'
import { currentScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'

/** Decides if the browser's history gets an entry; without client navigation it makes no difference. */
export const RedirectType = { push: 'push', replace: 'replace' } as const

/** Leaves the page or handler with a redirect, status 307. Never returns. */
export function redirect(url: string | URL, type: string = RedirectType.replace): never {
  throw redirectError(checkedUrl(url, 'redirect'), type, 307)
}

/** Leaves with a permanent redirect, status 308. Never returns. */
export function permanentRedirect(url: string | URL, type: string = RedirectType.replace): never {
  throw redirectError(checkedUrl(url, 'permanentRedirect'), type, 308)
}

/** Shows the nearest `not-found.*`, status 404. Never returns. */
export function notFound(): never {
  throw httpError(404)
}

/** Answers with status 403. Never returns. */
export function forbidden(): never {
  throw httpError(403)
}

/** Answers with status 401. Never returns. */
export function unauthorized(): never {
  throw httpError(401)
}

/** Throws a value again when it came of `redirect`, `notFound` and their kin; for a `catch` that means to take errors only. */
export function unstable_rethrow(thrown: unknown): void {
  if (controlFlowOf(thrown) !== undefined) throw thrown
}

/** The path of the request, percent-encoded as it was sent. */
export function usePathname(): string {
  return currentScope('usePathname()').url.pathname
}

/** The query of the request; reading it makes the answer depend on it. */
export function useSearchParams(): ReadonlyURLSearchParams {
  const scope = currentScope('useSearchParams()')
  return new ReadonlyURLSearchParams(scope.read('query', 'useSearchParams()') ? scope.url.search : '')
}

/** All parameters of the route. */
export function useParams(): Record<string, string | readonly string[]> {
  return { ...currentScope('useParams()').guest.begin.params }
}

/** URL segments below the layout that renders, with parameters filled in; `slot` names a parallel slot. Groups do not count. */
export function useSelectedLayoutSegments(slot = 'children'): readonly string[] {
  const { params } = currentScope('useSelectedLayoutSegments()').guest.begin
  const layout = useContext(LayoutContext) as SegmentNode | null
  const segments: string[] = []
  for (let node = layout?.slots[slot]; node; node = node.slots['children']) {
    if (/^[@(]/.test(node.segment)) continue
    segments.push(node.param === undefined ? node.segment : [params[node.param] ?? ''].flat().join('/'))
  }
  return segments
}

/** The first segment below the layout that renders, or null. */
export function useSelectedLayoutSegment(slot = 'children'): string | null {
  return useSelectedLayoutSegments(slot)[0] ?? null
}

/** A router whose methods do nothing: pages are rendered on the server only, where there is no navigation. */
export function useRouter(): Readonly<Record<'push' | 'replace' | 'refresh' | 'back' | 'forward' | 'prefetch', () => void>> {
  // Of its own for each call: what one request leaves on it, another must not find.
  return { push: nothing, replace: nothing, refresh: nothing, back: nothing, forward: nothing, prefetch: nothing }
}

const nothing = () => {
  // Navigation happens in a browser; see `useRouter`.
}

/** A query that cannot be changed. */
export class ReadonlyURLSearchParams extends URLSearchParams {
  override append(): never {
    return refuseChange()
  }

  override delete(): never {
    return refuseChange()
  }

  override set(): never {
    return refuseChange()
  }

  override sort(): never {
    return refuseChange()
  }
}

function refuseChange(): never {
  throw new RouterError('ROUTER_MISUSE', 'The query of a request cannot be changed. Make a new URLSearchParams of it.')
}

function checkedUrl(url: unknown, helper: string): string {
  if ((typeof url === 'string' && url !== '') || url instanceof URL) return String(url)
  throw new RouterError('ROUTER_BAD_ARGUMENT', `${helper}() needs a URL.`)
}
