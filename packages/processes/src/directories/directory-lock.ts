import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import type { Server } from 'node:net'
import { OWN_NAME, socketDirectory } from '@svc/config'
import { messageOf } from '@svc/core'
import { SupervisorError } from '../errors/errors.ts'
import { makePrivateDirectory } from './directories.ts'
import { takeLock } from './socket-lock.ts'

/** Purpose of a lock: one directory may serve several purposes of one instance. */
type DirectoryUse = 'run' | 'state' | 'cache'

/**
 * Locks a directory. The holder releases the lock by closing it, and the kernel does when the process ends in any way.
 * Undefined: another process holds it.
 * @throws SUP_DIRECTORY if no socket can be made in it
 */
export function holdDirectory(use: DirectoryUse, dir: string): Promise<Server | undefined> {
  return hold(dir, use)
}

/** Takes the lock of a site's unit, as `holdDirectory` does for a directory. */
export function holdSite(runDir: string, site: string): Promise<Server | undefined> {
  return hold(runDir, `site-${createHash('sha256').update(site).digest('hex').slice(0, 16)}`)
}

async function hold(dir: string, name: string): Promise<Server | undefined> {
  try {
    const place = await lockPlace(dir, name)
    return await takeLock(place.dir, place.name)
  } catch (error) {
    const message = `cannot use ${dir}: failed to create a lock in it: ${messageOf(error)}`
    throw new SupervisorError('SUP_DIRECTORY', message, { cause: error })
  }
}

/** Returns the place of a directory's lock: the directory itself, except below `.svc`, which may hold no socket. */
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
 * Locks a directory that two servers must not share: they would serve each other's pages, possibly of different sites, and miss
 * each other's purges. Returns a function that releases the lock.
 * @throws SUP_DIRECTORY_TAKEN, SUP_DIRECTORY
 */
export async function lockDirectory(use: 'state' | 'cache', dir: string, key: string): Promise<() => void> {
  const holder = await holdDirectory(use, dir)
  if (holder !== undefined) return () => holder.close()
  throw new SupervisorError('SUP_DIRECTORY_TAKEN', { directory: dir, key })
}
