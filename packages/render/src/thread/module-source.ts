import { constants } from 'node:fs'
import { type FileHandle, open, realpath, stat } from 'node:fs/promises'
import { sep } from 'node:path'

/** Sources above this size are not shown. */
const MAX_SOURCE_BYTES = 1024 * 1024
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW

/**
 * Reads the source of a module for display: a regular file whose real path is the module's id, below `root`, of at most 1 MB.
 * Everything else, and a file that is being replaced meanwhile, is undefined.
 * @param root real path of the site's directory
 */
export async function moduleSource(id: string, root: string): Promise<string | undefined> {
  if (!id.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined
  let handle: FileHandle | undefined
  try {
    handle = await open(id, OPEN_FLAGS)
    const opened = await handle.stat()
    if (!opened.isFile() || opened.size > MAX_SOURCE_BYTES || (await realpath(id)) !== id) return undefined
    // A directory of the path may have become a link between the two calls.
    const named = await stat(id)
    if (named.dev !== opened.dev || named.ino !== opened.ino) return undefined
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(opened.size), position: 0 })
    return buffer.toString('utf8', 0, bytesRead)
  } catch {
    // Gone or not readable: the page is shown without an excerpt.
    return undefined
  } finally {
    await handle?.close()
  }
}
