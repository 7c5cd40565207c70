import { messageOf } from '@svc/core'
import { type SiteManifest, withMiddlewareMatcher } from '@svc/site'
import { type LogOrigin, noOrigin } from '../contract/thread-messages.ts'
import { InspectJob } from './inspect-job.ts'
import type { SitePool } from './site-pool.ts'

interface MatcherOptions {
  /** The pool that the module runs in; not called without middleware. @throws RENDER_STALE_MANIFEST */
  readonly pool: () => Pick<SitePool, 'run'>
  readonly nextNumber: () => number
  readonly timeoutMs: number
  readonly log: (level: string, origin: LogOrigin, text: string) => void
}

/** Adds the matcher of its middleware to a manifest. It is an export of the middleware's module: only running it tells. */
export async function withMatcher(manifest: SiteManifest, options: MatcherOptions): Promise<SiteManifest> {
  const file = manifest.middleware?.file
  if (file === undefined) return manifest
  const pool = options.pool()
  const job = new InspectJob(options.nextNumber(), [file], options.timeoutMs)
  try {
    pool.run(job)
    const { config } = (await job.exports)[file] ?? {}
    const matcher = typeof config === 'object' && config !== null && 'matcher' in config ? config.matcher : null
    return withMiddlewareMatcher(manifest, matcher)
  } catch (error) {
    // It then runs for every path, and each response reports the error.
    options.log('error', noOrigin, `middleware cannot be loaded: ${messageOf(error)}`)
    return manifest
  }
}
