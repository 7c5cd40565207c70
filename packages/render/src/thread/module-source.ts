import { realpath, stat } from 'node:fs/promises'
import { sep } from 'node:path'
import { readRegularFile } from '../regular-file.ts'

/** Sources above this size are not shown. */
const MAX_SOURCE_BYTES = 1024 * 1024

/**
 * Reads the source of a module for display: a regular file whose real path is the module's id, below `root`, of at most 1 MB.
 * Everything else, and a file that is being replaced meanwhile, is undefined.
 * @param root real path of the site's directory
 */
export async function moduleSource(id: string, root: string): Promise<string | undefined> {
  if (!id.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined
  return await readRegularFile(id, MAX_SOURCE_BYTES, async (opened) => {
    if ((await realpath(id)) !== id) return false
    // A directory of the path may have become a link between the two calls.
    const named = await stat(id)
    return named.dev === opened.dev && named.ino === opened.ino
  })
}
