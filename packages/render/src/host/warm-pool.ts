import { codeOf, withDeadline } from '@svc/core'
import type { SiteManifest } from '@svc/site'
import { filesOfRoute, routeById } from '../thread/route-files.ts'
import { InspectJob } from './inspect-job.ts'
import type { SitePool } from './site-pool.ts'

/** How long the modules of the routes in use may take to be loaded; the rest is left to their first requests. */
const WARM_TIMEOUT_MS = 10_000

/** Errors of the site's own code: they are reported and logged by the request that needs the code. */
const ofTheSite = new Set(['RENDER_FAILED', 'RENDER_COMPILE', 'RENDER_RESOLVE', 'RENDER_TIMEOUT', 'RENDER_MEMORY'])

/** Options of `warmPool`. */
interface Warming {
  readonly manifest: SiteManifest
  /** Ids of the routes that were in use; unknown ones are left out. */
  readonly routes: Iterable<string>
  readonly nextNumber: () => number
  readonly timeoutMs: number
}

function filesOf(manifest: SiteManifest, route: string): string[] | undefined {
  try {
    return filesOfRoute(routeById(manifest, route), manifest)
  } catch {
    // It has been removed since.
    return undefined
  }
}

/**
 * Starts the first isolate of a pool and evaluates the modules of routes in it, one route after the other.
 * @throws RENDER_ISOLATE_LOST, RENDER_GUEST when no isolate starts; CORE_TIMEOUT when there is none in time
 */
export async function warmPool(pool: SitePool, { manifest, routes, nextNumber, timeoutMs }: Warming): Promise<void> {
  const endAt = performance.now() + WARM_TIMEOUT_MS
  // An empty one first: it tells a pool that does not start from modules that do not load.
  const lists = [[], ...[...routes].map((route) => filesOf(manifest, route)).filter((files) => files !== undefined)]
  for (const [index, files] of lists.entries()) {
    const leftMs = endAt - performance.now()
    if (leftMs <= 0) return
    const job = new InspectJob(nextNumber(), files, timeoutMs)
    try {
      pool.run(job)
      await withDeadline(job.exports, leftMs, 'the start of fresh isolates')
    } catch (error) {
      pool.cancel(job)
      const code = codeOf(error)
      if (code !== undefined && ofTheSite.has(code)) continue
      if (index > 0 && code === 'CORE_TIMEOUT') return
      throw error
    }
  }
}
