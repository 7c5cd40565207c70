import { randomBytes } from 'node:crypto'
import { constants, open, rename, unlink } from 'node:fs/promises'
import { loadRegularFile } from '@svc/core'

const PRIVATE_FILE = 0o600
const TEMPORARY = /^(.+)\.[0-9a-f]{8}\.tmp$/
/** Certificates and keys have a few KB. */
const MAX_BYTES = 1024 * 1024

/**
 * Writes a file atomically, readable by its owner only. Keeps an existing private file with the same content; replaces anything else
 * of this name, a link itself and not its target.
 */
export async function writePrivate(path: string, text: string): Promise<void> {
  if ((await readOwn(path)) === text) return
  const temporary = `${path}.${randomBytes(4).toString('hex')}.tmp`
  try {
    const handle = await open(temporary, 'wx', PRIVATE_FILE)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => undefined)
    throw error
  }
}

/** Returns the final name of a partial file of `writePrivate`; undefined: the name is not that of a partial file. */
export function targetOf(name: string): string | undefined {
  return TEMPORARY.exec(name)?.[1]
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

/** Returns the text of a file that only this user can access. Undefined: no usable file. */
async function readOwn(path: string): Promise<string | undefined> {
  try {
    return (await loadRegularFile(path, { maxBytes: MAX_BYTES, isPrivate: true })).bytes.toString('utf8')
  } catch {
    // It is written again.
    return undefined
  }
}
