import { createHash } from 'node:crypto'
import type { Server } from 'node:net'
import { messageOf } from '@svc/core'
import { SupervisorError } from '../errors.ts'
import { takeLock } from './socket-lock.ts'

/** What a directory is held as: one directory may serve several purposes of one instance. */
export type DirectoryUse = 'run' | 'state' | 'cache'

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
    return await takeLock(dir, name)
  } catch (error) {
    const message = `cannot use ${dir}: no lock can be made in it: ${messageOf(error)}`
    throw new SupervisorError('SUP_DIRECTORY', message, { cause: error })
  }
}

/**
 * Takes the sole right to a directory that two servers must not share: they would serve each other's pages, whose sites may be
 * others, and know nothing of each other's purges. The returned function gives it back.
 * @throws SUP_DIRECTORY_TAKEN, SUP_DIRECTORY
 */
export async function lockDirectory(use: 'state' | 'cache', dir: string, key: string): Promise<() => void> {
  const holder = await holdDirectory(use, dir)
  if (holder !== undefined) return () => holder.close()
  throw new SupervisorError('SUP_DIRECTORY_TAKEN', `another server uses ${dir} (${key})`)
}
