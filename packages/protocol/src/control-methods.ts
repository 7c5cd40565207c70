import { guard, method } from '@svc/core'
import { reloadReport, siteManifestInfo, siteStatus, statusReport } from './reports.ts'

/** What the master answers on `<run_dir>/control.sock`. */
export const controlMethods = {
  status: method(guard.nothing, statusReport),
  reload: method(guard.nothing, reloadReport),
  /** Begins a graceful stop; the answer comes before the process ends. */
  stop: method(guard.nothing, guard.object({ pid: guard.number })),
  sites: method(guard.nothing, guard.object({ sites: guard.arrayOf(siteStatus) })),
  routes: method(guard.object({ site: guard.string }), siteManifestInfo),
} as const

/** What a client of the control socket answers: nothing. */
export const controlClientMethods = {} as const
