import { type Guarded, guard, method } from '@svc/core'
import { loadedModule, modulePurge, snapshotTarget } from '@svc/protocol'
import { moduleReply, moduleRequest } from './scan-methods.ts'

/** The page or handler that works for a request: a purge of a path is compared with it. */
const routePlace = guard.object({
  /** Path of the request as the client sent it. */
  path: guard.string,
  /** Pattern of its route; "" for none. */
  pattern: guard.string,
})
export type RoutePlace = Guarded<typeof routePlace>

/** A look-up in the data cache. */
const dataQuestion = guard.object({
  /**
   * `read`: the entry, or the right to make it. `refresh`: the right to refresh a stale entry, unless a refresh is in flight.
   * `fallback`: the entry at any age, because making it has failed.
   */
  mode: guard.oneOf('read', 'refresh', 'fallback'),
  /** Parts of the key; the host adds the label of the site. */
  parts: guard.arrayOf(guard.string),
  /** Names of tags that the caller gives the entry. */
  tags: guard.arrayOf(guard.string),
  /** Milliseconds for which an entry is fresh to this caller; null: for ever. */
  ttlMs: guard.nullable(guard.number),
  /** Undefined: nothing is known of a request. */
  place: guard.optional(routePlace),
  /** Asked for a request that came back to the instance that sent it: the thread that produces the entry may wait for it. */
  cameBack: guard.optional(guard.boolean),
})
export type DataQuestion = Guarded<typeof dataQuestion>

/**
 * `hit`: the entry comes as bytes. `fill`: the caller produces it, and gives `fill` back by `storeData` or `endFill`. `pass`: there
 * is none, and the result of the caller is not stored.
 */
const dataReply = guard.object({
  kind: guard.oneOf('hit', 'fill', 'pass'),
  /** With `hit`: the entry should be refreshed in the background. */
  isStale: guard.optional(guard.boolean),
  /** With `hit`: names of its tags. */
  tags: guard.optional(guard.arrayOf(guard.string)),
  fill: guard.optional(guard.number),
})
export type DataReply = Guarded<typeof dataReply>

/** `pass`: the result cannot be stored. `failed`: there is none. `lost`: the producer is gone; another caller may take over. */
const fillOutcome = guard.oneOf('pass', 'failed', 'lost')
export type FillOutcome = Guarded<typeof fillOutcome>

/** A path that site code wants purged: one path, or with a type the pattern of a page, or of a layout with all below it. */
const pathPurge = guard.object({ path: guard.string, type: guard.optional(guard.oneOf('page', 'layout')) })
export type PathPurge = Guarded<typeof pathPurge>

/** Methods of a render host for its threads, each for one site: the host adds the label of the site. */
export const siteServiceMethods = {
  readData: method(dataQuestion, dataReply),
  /** The entry of a fill comes as bytes. False: it was not kept. */
  storeData: method(
    guard.object({ fill: guard.number, tags: guard.arrayOf(guard.string), ttlMs: guard.nullable(guard.number) }),
    guard.object({ isStored: guard.boolean }),
  ),
  endFill: method(guard.object({ fill: guard.number, outcome: fillOutcome }), guard.nothing),
  /** Compiles modules in a process of their own. */
  compile: method(moduleRequest, moduleReply),
  /** Answered when no process of the instance serves anything any more that this takes away. */
  purge: method(guard.object({ tags: guard.arrayOf(guard.string), paths: guard.arrayOf(pathPurge) }), guard.nothing),
} as const

/** Methods of a thread for its host, about the compiled modules of its isolate. */
export const siteServiceClientMethods = {
  /** Forgets compiled modules in its isolate. `evicted`: how many there were. */
  purgeModules: method(modulePurge, guard.object({ evicted: guard.number })),
  /** The modules of its isolate. */
  modules: method(guard.nothing, guard.object({ modules: guard.arrayOf(loadedModule) })),
  /** Writes the heap of its isolate into a file. Undefined: it has no isolate. */
  heapSnapshot: method(snapshotTarget, guard.object({ bytes: guard.optional(guard.number) })),
} as const
