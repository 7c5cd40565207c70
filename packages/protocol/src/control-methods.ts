import { guard, method } from '@svc/core'
import { appReset, modulePurge, purgeOrder, purgeOutcome, restartStatus } from './cache-messages.ts'
import { override } from './override-messages.ts'
import { reloadReport, siteManifestInfo, siteStatus, statusReport } from './reports.ts'

/** Methods of the master on `<run_dir>/control.sock`. */
export const controlMethods = {
  status: method(guard.nothing, statusReport),
  reload: method(guard.nothing, reloadReport),
  /** Begins a graceful stop; the answer comes before the process ends. */
  stop: method(guard.nothing, guard.object({ pid: guard.number })),
  sites: method(guard.nothing, guard.object({ sites: guard.arrayOf(siteStatus) })),
  routes: method(guard.object({ site: guard.string }), siteManifestInfo),
  /** Values that were set at run time. */
  overrides: method(guard.nothing, guard.object({ overrides: guard.arrayOf(override) })),
  /** Ends an override: the value of the configuration holds again. */
  resetOverride: method(guard.object({ key: guard.string }), guard.nothing),
  purge: method(guard.object({ order: purgeOrder }), purgeOutcome),
  purgeModules: method(modulePurge, guard.object({ evicted: guard.number })),
  resetApp: method(guard.object({ root: guard.string }), appReset),
  flushIsolates: method(guard.object({ site: guard.string }), guard.object({ isolates: guard.number })),
  restartRenderers: method(guard.nothing, restartStatus),
  restartStatus: method(
    guard.object({ id: guard.string, wait: guard.boolean }),
    guard.object({ status: guard.optional(restartStatus) }),
  ),
} as const

/** Methods of a client of the control socket: none. */
export const controlClientMethods = {} as const
