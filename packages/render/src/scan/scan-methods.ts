import { guard, method } from '@svc/core'
import { parseManifest } from '@svc/site'

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
} as const

/** Methods of a render host for its scan processes: none. */
export const scanParentMethods = {} as const
