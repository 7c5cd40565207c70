import type { BeginRequest } from '@svc/guest'
import type { RoutePlace } from '../../contract/data-methods.ts'
import type { RenderTask } from '../../contract/thread-messages.ts'

/** Path and pattern of a request under way. Undefined for one without a URL. */
export function placeOf({ begin, route }: Pick<RenderTask, 'begin' | 'route'>): RoutePlace | undefined {
  const { url } = JSON.parse(begin) as Partial<BeginRequest>
  const parsed = url === undefined ? null : URL.parse(url)
  if (parsed === null) return undefined
  // Ids of routes are their kind, a colon and the pattern.
  return { path: parsed.pathname, pattern: route.slice(route.indexOf(':') + 1) }
}
