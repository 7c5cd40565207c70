import { realpathSync } from 'node:fs'
import { isBelow, readRegularFileSync } from '@svc/core'

/** Larger sources are not shown. */
const MAX_SOURCE_BYTES = 1024 * 1024

/**
 * Reads the source of a module for display: a regular file whose real path is the module's id, below `root`, of at most 1 MB.
 * Everything else, and a file that is being replaced meanwhile, is undefined.
 * @param root real path of the site's directory
 */
export function moduleSource(id: string, root: string): string | undefined {
  try {
    if (!isBelow(id, root) || realpathSync.native(id) !== id) return undefined
    // A directory of the path may become a link now: the limits hold for the file that is open.
    return readRegularFileSync(id, { maxBytes: MAX_SOURCE_BYTES, within: root }).toString('utf8')
  } catch {
    // Gone, or not readable: the page shows the error without the source.
    return undefined
  }
}
