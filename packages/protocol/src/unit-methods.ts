import { type Guarded, guard, method } from '@svc/core'
import { purgeState } from './cache-messages.ts'
import { hostCommandMethods, hostParentMethods, hostSpec } from './host-methods.ts'

/** Methods of a site unit, a process with a render host for one site, for the master: most of them for its render host. */
export const unitMethods = {
  ...hostCommandMethods,
  /**
   * The first call after `hello`: what to serve, and what the render host has to know of purges. `boot` names the master's process:
   * what a unit knows of the shared store is true for that one only. Answered when the render host has taken it all in.
   */
  attach: method(guard.object({ spec: hostSpec, purges: purgeState, boot: guard.string }), guard.nothing),
  /** Replaces the render host by a new one that has the routes in use loaded. */
  replace: method(guard.nothing, guard.nothing),
} as const

/** Methods of the master for a site unit, on `<run_dir>/units.sock`. */
export const unitParentMethods = {
  /** The first call. Refused when the site has no process of its own, or the token is not the one of its file. */
  hello: method(
    guard.object({ site: guard.string, token: guard.string, pid: guard.number, version: guard.string }),
    guard.nothing,
  ),
  ...hostParentMethods,
  /** Another render host listens now. Answered when workers send nothing new to the one before. */
  hostReplaced: method(guard.nothing, guard.nothing),
  /** The unit ends. Answered when workers send nothing new to it. */
  leaving: method(guard.nothing, guard.nothing),
  /** Files of the site were added, removed or changed. Answered when nothing made of the old ones is served as fresh. */
  filesChanged: method(guard.object({ files: guard.arrayOf(guard.string) }), guard.nothing),
} as const

/** Content of `<run_dir>/sites/<id>.json`: all that the unit of a site knows before it connects to the master. */
export const siteFile = guard.object({
  site: guard.string,
  /** Proves a worker to the unit, and the unit to the master. */
  token: guard.string,
  /** Path of the unix socket for the workers. */
  socket: guard.string,
  /** Directories that the service writes to: no part of a site, also where they lie in it. */
  ownDirectories: guard.arrayOf(guard.string),
  spec: hostSpec,
})
export type SiteFile = Guarded<typeof siteFile>
