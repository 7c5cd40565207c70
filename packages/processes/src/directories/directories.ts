import { type FileHandle, readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { OWN_NAME } from '@svc/config'
import { codeOf, messageOf, openPrivateDirectory } from '@svc/core'
import { SupervisorError } from '../errors/errors.ts'

/** Directories that all programs of a machine share. */
const SHARED = new Set(
  [
    '/ /bin /boot /dev /dev/shm /etc /home /lib /media /mnt /opt /proc /run /sbin /srv /sys /tmp /usr /usr/lib /usr/local /usr/share',
    '/var /var/cache /var/lib /var/lock /var/log /var/run /var/spool /var/tmp /var/www',
  ].flatMap((line) => line.split(' ')),
)

/** True if other programs need the directory, so that it must not become private. `path`: with links resolved. */
export function isSharedDirectory(path: string): boolean {
  return SHARED.has(path)
}

function reasonOf(error: unknown): string {
  const isForbidden = ['EACCES', 'EPERM', 'EROFS'].includes(String(codeOf(error)))
  return isForbidden ? 'this user may not write to it' : messageOf(error)
}

function adviceFor(key: string): string {
  return `set ${key} (or the environment variable SVC_${key.toUpperCase().replace('.', '__')}) to another directory`
}

/** Returns a directory, preceded by its parents that belong to the instance too: `.svc` and everything below it. */
function ownParts(directory: string): string[] {
  const names = directory.split('/')
  const first = names.indexOf(OWN_NAME)
  const lengths = first < 0 ? [names.length] : names.slice(first).map((_, index) => first + index + 1)
  return lengths.map((length) => names.slice(0, length).join('/'))
}

/** Rejects links in a directory of the instance: its files must not end up elsewhere. */
async function checkEntries(directory: string, handle: FileHandle): Promise<void> {
  const entries = await readdir(`/proc/self/fd/${handle.fd}`, { withFileTypes: true })
  const link = entries.find((entry) => entry.isSymbolicLink())
  if (link === undefined) return
  const message = `${join(directory, link.name)} is a symbolic link; remove it, or make a directory of this name`
  throw new SupervisorError('SUP_DIRECTORY', `cannot use ${directory}: ${message}`)
}

async function takeDirectory(directory: string): Promise<void> {
  for (const part of ownParts(directory)) {
    const handle = await openPrivateDirectory(part)
    try {
      await checkEntries(part, handle)
    } finally {
      await handle.close()
    }
  }
}

/**
 * Makes the directories of an instance, private to its user. Keys: the setting of each path.
 * @throws SUP_DIRECTORY naming the unusable directory
 */
export async function makeDirectories(directories: Readonly<Record<string, string>>): Promise<void> {
  for (const [key, directory] of Object.entries(directories)) {
    try {
      if (isSharedDirectory(await realpath(directory).catch(() => directory))) {
        const message = `cannot use ${directory}: other programs use it, and it would become private to this server; ${adviceFor(key)}`
        throw new SupervisorError('SUP_DIRECTORY', message)
      }
      await takeDirectory(directory)
    } catch (error) {
      if (error instanceof SupervisorError) throw error
      const message = `cannot use ${directory}: ${reasonOf(error)}; ${adviceFor(key)}`
      throw new SupervisorError('SUP_DIRECTORY', message, { cause: error })
    }
  }
}

/**
 * Makes the directory of compiled modules, which has no setting. If it is not writable, the cache only has no effect.
 * @throws SUP_DIRECTORY if another user could put code into it
 */
export async function makeModuleDirectory(directory: string): Promise<void> {
  try {
    await takeDirectory(directory)
  } catch (error) {
    if (codeOf(error) !== 'CORE_UNSAFE_DIRECTORY') return
    throw new SupervisorError('SUP_DIRECTORY', `cannot use ${directory}: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * Makes a directory private to its owner. An existing one that others can access becomes private before any file is written to it.
 * @throws SUP_DIRECTORY if another user could access its content; otherwise the error of the file system
 */
export async function makePrivateDirectory(path: string): Promise<void> {
  try {
    const handle = await openPrivateDirectory(path)
    await handle.close()
  } catch (error) {
    if (codeOf(error) !== 'CORE_UNSAFE_DIRECTORY') throw error
    throw new SupervisorError('SUP_DIRECTORY', `cannot use ${path}: ${messageOf(error)}`, { cause: error })
  }
}
