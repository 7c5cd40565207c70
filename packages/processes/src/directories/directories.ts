import { type FileHandle, readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { OWN_NAME } from '@svc/config'
import { codeOf, messageOf, openPrivateDirectory } from '@svc/core'
import { SupervisorError } from '../errors/errors.ts'
import { isSharedDirectory } from './shared-directories.ts'

function reasonOf(error: unknown): string {
  const isForbidden = ['EACCES', 'EPERM', 'EROFS'].includes(String(codeOf(error)))
  return isForbidden ? 'it may not be written by this user' : messageOf(error)
}

function adviceFor(key: string): string {
  return `set ${key} (or the environment variable SVC_${key.toUpperCase().replace('.', '__')}) to another directory`
}

/** Returns a directory behind those above it that are the instance's own too: `.svc` and everything below it. */
function ownParts(directory: string): string[] {
  const names = directory.split('/')
  const first = names.indexOf(OWN_NAME)
  const lengths = first < 0 ? [names.length] : names.slice(first).map((_, index) => first + index + 1)
  return lengths.map((length) => names.slice(0, length).join('/'))
}

/** Refuses links in a directory of the instance: what is written there must not end up elsewhere. */
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
 * Makes the directories of an instance, for its own user alone: paths by the key of the configuration that changes them.
 * @throws SUP_DIRECTORY naming the one that cannot be used
 */
export async function makeDirectories(directories: Readonly<Record<string, string>>): Promise<void> {
  for (const [key, directory] of Object.entries(directories)) {
    try {
      if (isSharedDirectory(await realpath(directory).catch(() => directory))) {
        const message = `cannot use ${directory}: others use it too, and it would be closed to them; ${adviceFor(key)}`
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
 * Makes the directory of compiled modules, which no key of the configuration names. One that cannot be written is only a cache
 * without effect.
 * @throws SUP_DIRECTORY when another user could put code into it
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
 * Makes a directory for its owner alone. One that is there and open to others is closed to them before anything is put into it.
 * @throws SUP_DIRECTORY when another user could get at what is in it; else what the file system says
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
