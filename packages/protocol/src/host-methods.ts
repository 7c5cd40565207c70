import { guard, method } from '@svc/core'
import type { GenerationSpec } from './generation.ts'

const generationSpec = guard.anything as guard.Guard<GenerationSpec>

const poolStatus = guard.object({
  site: guard.string,
  threads: guard.number,
  active: guard.number,
  queued: guard.number,
})

/** What a render host answers to the master, over process IPC. */
export const hostMethods = {
  /** Tells the host where to listen and with which token; the answer comes when it listens and its snapshot is loaded. */
  start: method(guard.object({ id: guard.string, socket: guard.string, token: guard.string }), guard.nothing),
  /** Builds generation n+1 beside the current one (site settings only: no isolate is started for it). */
  prepare: method(guard.object({ spec: generationSpec }), guard.nothing),
  /** Swaps to the prepared generation; pools of changed or removed sites end after their last render. */
  commit: method(guard.object({ generation: guard.number }), guard.nothing),
  abandon: method(guard.object({ generation: guard.number }), guard.nothing),
  /** Files of a site changed: absolute paths, or none for "look at everything". Evicts modules and rescans routes. */
  siteChanged: method(guard.object({ site: guard.string, files: guard.arrayOf(guard.string) }), guard.nothing),
  /** Stops taking renders and answers when the last one has ended. */
  drain: method(guard.object({ timeoutMs: guard.number }), guard.nothing),
  ping: method(guard.nothing, guard.object({ rssBytes: guard.number, pools: guard.arrayOf(poolStatus) })),
  metrics: method(guard.nothing, guard.object({ metrics: guard.anything })),
} as const

/** What the master answers to a render host. */
export const hostParentMethods = {
  /** A site's isolate ended other than by idling: out of memory, stuck, or crashed. */
  isolateLost: method(guard.object({ site: guard.string, reason: guard.oneOf('memory', 'timeout', 'crash') }), guard.nothing),
} as const
