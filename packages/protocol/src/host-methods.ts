import { guard, method } from '@svc/core'
import { hostIsolate, loadedModule, modulePurge, purgeMessage, purgeOrder, purgeOutcome, purgeState } from './cache-messages.ts'
import type { HostSpec } from './generation.ts'
import { logBatch } from './log-messages.ts'
import { siteSurvey } from './reports.ts'

export const hostSpec = guard.anything as guard.Guard<HostSpec>

/** Where a heap snapshot goes: the absolute path of a file that does not exist yet. */
export const snapshotTarget = guard.object({ file: guard.string, maxBytes: guard.number })

const poolStatus = guard.object({
  site: guard.string,
  threads: guard.number,
  active: guard.number,
  queued: guard.number,
})

/** Methods of a render host for the master, whichever process started it. */
export const hostCommandMethods = {
  /** Builds generation n+1 beside the current one (site settings only: no isolate is started for it). */
  prepare: method(guard.object({ spec: hostSpec, purges: guard.optional(purgeState) }), guard.nothing),
  /** Swaps to the prepared generation; pools of changed or removed sites end after their last render. */
  commit: method(guard.object({ generation: guard.number }), guard.nothing),
  abandon: method(guard.object({ generation: guard.number }), guard.nothing),
  /**
   * Files of a site changed: absolute paths, or none for "look at everything". Evicts modules and rescans routes. Answers with
   * the patterns of the routes whose code was touched; null: any may be. `movesPaths`: routes were added or removed, so that
   * a path may lead to another route than before.
   */
  siteChanged: method(
    guard.object({ site: guard.string, files: guard.arrayOf(guard.string) }),
    guard.object({ routes: guard.nullable(guard.arrayOf(guard.string)), movesPaths: guard.boolean }),
  ),
  /** Scans the directory of a site, unless that was done since its last change. No isolate is started for it. */
  survey: method(guard.object({ site: guard.string }), siteSurvey),
  /** A purge: data of the site's own code that it matches is neither served nor stored from now on. Sent before the workers get it. */
  purge: method(purgeMessage, guard.nothing),
  purgeSettled: method(guard.object({ number: guard.number }), guard.nothing),
  /** Forgets compiled modules in every isolate. `evicted`: how many there were. */
  purgeModules: method(modulePurge, guard.object({ evicted: guard.number })),
  /** The compiled modules of each isolate of a site. */
  modules: method(guard.object({ site: guard.string }), guard.object({ isolates: guard.arrayOf(guard.arrayOf(loadedModule)) })),
  /** The isolates of these sites, or of all. Answered at once, whatever their code does. */
  isolates: method(
    guard.object({ sites: guard.optional(guard.arrayOf(guard.string)) }),
    guard.object({ isolates: guard.arrayOf(hostIsolate) }),
  ),
  /** Gives a site fresh isolates: warmed first, then swapped in at once; requests in flight end on the old ones. */
  flush: method(guard.object({ site: guard.string }), guard.object({ isolates: guard.number })),
  /** Routes that were asked for, by site: what a successor should have loaded before it takes over. */
  usedRoutes: method(
    guard.nothing,
    guard.object({ sites: guard.arrayOf(guard.object({ site: guard.string, routes: guard.arrayOf(guard.string) })) }),
  ),
  /** Starts an isolate of a site and loads the modules of routes in it, ahead of the first request. */
  warm: method(guard.object({ site: guard.string, routes: guard.arrayOf(guard.string) }), guard.nothing),
  /** `hasSpareThread`: whether a started thread waits for a site. */
  ping: method(
    guard.nothing,
    guard.object({ rssBytes: guard.number, pools: guard.arrayOf(poolStatus), hasSpareThread: guard.optional(guard.boolean) }),
  ),
  metrics: method(guard.nothing, guard.object({ metrics: guard.anything })),
} as const

/** Methods of a render host for the process that started it, over process IPC. */
export const hostMethods = {
  ...hostCommandMethods,
  /** Tells the host where to listen and with which token; the answer comes when it listens and its snapshot is loaded. */
  start: method(guard.object({ id: guard.string, socket: guard.string, token: guard.string }), guard.nothing),
  /**
   * Scans, compiles and warms the one site of a generation that is not in service. Its problems include the errors of the compilation;
   * without errors the next generation that has it takes it over.
   */
  tryOut: method(guard.object({ spec: hostSpec }), siteSurvey),
  /**
   * Purges do not get here at the moment: data of the sites' code is neither taken from the shared store nor put there until the
   * next `prepare` that has purges.
   */
  suspend: method(guard.nothing, guard.nothing),
  /**
   * Writes the heap of an isolate of a site into a file of mode 0600. `bytes`: its length; undefined: no isolate of the site runs here.
   * It cannot be aborted.
   */
  heapSnapshot: method(
    guard.object({ site: guard.string, target: snapshotTarget }),
    guard.object({ bytes: guard.optional(guard.number) }),
  ),
  /** Stops taking renders and answers when the last one has ended. */
  drain: method(guard.object({ timeoutMs: guard.number }), guard.nothing),
} as const

/** Methods of the master for a render host. */
export const hostParentMethods = {
  /** Code of a site asks for a purge (`revalidateTag`, `revalidatePath`); the host has cut the order down to that site. */
  purge: method(guard.object({ order: purgeOrder }), purgeOutcome),
  /** Runs a script on the cache that the instances share, for data of sites. Its arguments, and the entry that it finds, come as bytes. */
  sharedScript: method(
    guard.object({
      script: guard.oneOf('read', 'store'),
      keys: guard.arrayOf(guard.string),
      lengths: guard.arrayOf(guard.number),
    }),
    guard.object({ words: guard.arrayOf(guard.string) }),
  ),
  /** A site's isolate ended other than by idling: out of memory, stuck, or crashed. */
  isolateLost: method(guard.object({ site: guard.string, reason: guard.oneOf('memory', 'timeout', 'crash') }), guard.nothing),
  /** Lines of its log. */
  log: method(logBatch, guard.nothing),
} as const
