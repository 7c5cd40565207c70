import { constants, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

// A pipe without a writer would hold the thread up.
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK

/**
 * Reads a regular file of at most `maxBytes` as UTF-8, never more than it had when it was opened.
 * @param isWanted asked with what was opened, before anything is read
 * @returns undefined for anything else, also for a file that is not there or not readable
 */
export async function readRegularFile(
  path: string,
  maxBytes: number,
  isWanted: (opened: Stats) => Promise<boolean> = async () => true,
): Promise<string | undefined> {
  let handle: FileHandle | undefined
  try {
    handle = await open(path, OPEN_FLAGS)
    const opened = await handle.stat()
    if (!opened.isFile() || opened.size > maxBytes || !(await isWanted(opened))) return undefined
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(opened.size), position: 0 })
    return buffer.toString('utf8', 0, bytesRead)
  } catch {
    // Gone, or not readable: the caller goes on without it.
    return undefined
  } finally {
    await handle?.close()
  }
}
