import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'

const PRIVATE = 0o600
const PARTIAL = /^(.+)\.[0-9a-f]{8}\.tmp$/

/**
 * Writes a file for the user of the process alone, in place of any of its name: a link itself is replaced, not its target. A killed
 * process leaves the old content or the new, and perhaps a partial file: see `targetOfPartial`.
 * @param isSynced the same is true when the machine loses power
 */
export async function replaceFile(path: string, content: string | Uint8Array, isSynced = false): Promise<void> {
  const partial = `${path}.${randomBytes(4).toString('hex')}.tmp`
  try {
    const file = await open(partial, 'wx', PRIVATE)
    try {
      await file.writeFile(content)
      if (isSynced) await file.sync()
    } finally {
      await file.close()
    }
    await rename(partial, path)
    if (isSynced) await syncDirectory(dirname(path))
  } catch (error) {
    await unlink(partial).catch(() => undefined)
    throw error
  }
}

/** Makes new entries of a directory survive a loss of power. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Returns the final name of a partial file of `replaceFile`; undefined: the name is not that of a partial file. */
export function targetOfPartial(name: string): string | undefined {
  return PARTIAL.exec(name)?.[1]
}
