import { randomBytes } from 'node:crypto'
import { constants, open, rename, unlink } from 'node:fs/promises'
import { loadRegularFile } from '@svc/core'

const PRIVATE_FILE = 0o600
const TEMPORARY = /^(.+)\.[0-9a-f]{8}\.tmp$/
/** Certificates and keys have a few KB. */
const MAX_BYTES = 1024 * 1024

/**
 * Writes a file so that it is there whole or not at all, for its owner alone. One that says the same already and is no one
 * else's stays; anything else of this name gives way, a link as well and not what it leads to.
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

/** The name that a file of `writePrivate` was to get, whose process was killed; undefined: it is none. */
export function targetOf(name: string): string | undefined {
  return TEMPORARY.exec(name)?.[1]
}

/** What has been written to a directory and named in it is there after a loss of power too. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Text of a file that is for this user alone. Undefined: there is none that can be used. */
async function readOwn(path: string): Promise<string | undefined> {
  try {
    return (await loadRegularFile(path, { maxBytes: MAX_BYTES, isPrivate: true })).bytes.toString('utf8')
  } catch {
    // It is written anew.
    return undefined
  }
}
