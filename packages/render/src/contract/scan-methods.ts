import { guard, method } from '@svc/core'
import { parseManifest } from '@svc/site'

/** Modules that are to be compiled. */
export const moduleRequest = guard.object({
  /** Names a view of the site's files: as long as it is the same, files that were looked up are not looked up again. */
  view: guard.string,
  /** Absolute real paths. */
  ids: guard.arrayOf(guard.string),
})

/** Directories of compiled modules. */
const cacheDirs = guard.object({ modules: guard.string, index: guard.string, bytecode: guard.string })

/** An error as `toWire` makes it. */
const wireError = guard.object({
  code: guard.string,
  message: guard.string,
  status: guard.optional(guard.number),
  retryable: guard.optional(guard.boolean),
  exposable: guard.optional(guard.boolean),
  data: guard.optional(guard.recordOf(guard.anything)),
  stack: guard.optional(guard.string),
})

/** One module: either `hash` and `dependencies`, or an error. Neither: ask for it again, the reply was full. */
const moduleResult = guard.object({
  /** Of its compiled source, which is in the cache of modules. */
  hash: guard.optional(guard.string),
  dependencies: guard.optional(guard.recordOf(guard.string)),
  /** The compiled source and its maps, when the cache could not be written. */
  uncached: guard.optional(guard.object({ text: guard.string, maps: guard.arrayOf(guard.string) })),
  /** Why its last good version is used instead. */
  lastGood: guard.optional(guard.string),
  error: guard.optional(wireError),
})

/**
 * The results, in the order of the ids. `more`: modules that those import, directly or not, when nothing had to be compiled; the
 * caller most likely needs them next.
 */
export const moduleReply = guard.object({
  modules: guard.arrayOf(moduleResult),
  more: guard.arrayOf(guard.object({ id: guard.string, hash: guard.string, dependencies: guard.recordOf(guard.string) })),
})

/** Methods of a scan process, for its render host. */
export const scanMethods = {
  /** Reads a site's directory. `files`: absolute paths of which it says whether they are there. */
  scan: method(
    guard.object({ root: guard.string, publicDir: guard.string, files: guard.arrayOf(guard.string) }),
    guard.object({
      manifest: parseManifest,
      /** The root with all links resolved. */
      realRoot: guard.string,
      /** In the order of `files`. */
      areThere: guard.arrayOf(guard.boolean),
    }),
  ),
  /** Compiles modules of a site into the caches on disk, and resolves their imports. */
  compile: method(
    guard.object({
      root: guard.string,
      mode: guard.oneOf('production', 'development'),
      cacheDirs,
      modules: moduleRequest,
    }),
    moduleReply,
  ),
} as const

/** Methods of a render host for its scan processes: none. */
export const scanParentMethods = {} as const
