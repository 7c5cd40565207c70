import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import type { Server } from 'node:net'
import { OWN_NAME, socketDirectory } from '@svc/config'
import { messageOf } from '@svc/core'
import { SupervisorError } from '../errors/errors.ts'
import { makePrivateDirectory } from './directories.ts'
import { takeLock } from './socket-lock.ts'

/** What a directory is held as: one directory may serve several purposes of one instance. */
type DirectoryUse = 'run' | 'state' | 'cache'

/**
 * Takes the sole right to a directory, which its holder gives back by closing it, and the kernel however the process ends.
 * Undefined: another process has it.
 * @throws SUP_DIRECTORY where no socket can be made in it
 */
export function holdDirectory(use: DirectoryUse, dir: string): Promise<Server | undefined> {
  return hold(dir, use)
}

/** Takes the sole right to be the unit of a site, as `holdDirectory` does with a directory. */
export function holdSite(runDir: string, site: string): Promise<Server | undefined> {
  return hold(runDir, `site-${createHash('sha256').update(site).digest('hex').slice(0, 16)}`)
}

async function hold(dir: string, name: string): Promise<Server | undefined> {
  try {
    const place = await lockPlace(dir, name)
    return await takeLock(place.dir, place.name)
  } catch (error) {
    const message = `cannot use ${dir}: no lock can be made in it: ${messageOf(error)}`
    throw new SupervisorError('SUP_DIRECTORY', message, { cause: error })
  }
}

/** Returns where the lock of a directory lies: in it, but for those below `.svc`, where no socket may lie. */
async function lockPlace(dir: string, name: string): Promise<{ dir: string; name: string }> {
  const names = (await realpath(dir)).split('/')
  const own = names.indexOf(OWN_NAME)
  if (own < 0) return { dir, name }
  const place = socketDirectory(names.slice(0, own + 1).join('/'), process.getuid?.() ?? 0)
  await makePrivateDirectory(place)
  const digest = createHash('sha256').update(names.join('/')).digest('hex').slice(0, 16)
  return { dir: place, name: `${name}-${digest}` }
}

/**
 * Takes the sole right to a directory that two servers must not share: they would serve each other's pages, whose sites may be
 * others, and know nothing of each other's purges. The returned function gives it back.
 * @throws SUP_DIRECTORY_TAKEN, SUP_DIRECTORY
 */
export async function lockDirectory(use: 'state' | 'cache', dir: string, key: string): Promise<() => void> {
  const holder = await holdDirectory(use, dir)
  if (holder !== undefined) return () => holder.close()
  throw new SupervisorError('SUP_DIRECTORY_TAKEN', { directory: dir, key })
}
