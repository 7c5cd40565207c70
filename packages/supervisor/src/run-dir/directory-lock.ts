import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { realpath } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { codeOf } from '@svc/core'
import { SupervisorError } from '../errors.ts'

/** What a directory is held as: one directory may serve several purposes of one instance. */
export type DirectoryUse = 'run' | 'state' | 'cache'

/** A name among the abstract sockets for what lies at a real path. */
async function lockName(prefix: string, dir: string, inner = ''): Promise<string> {
  const digest = createHash('sha256')
    .update((await realpath(dir)) + inner)
    .digest('hex')
    .slice(0, 32)
  return `${prefix}-${process.getuid?.() ?? 0}-${digest}`
}

/**
 * Takes the sole right to a directory: a socket in the abstract namespace, which the kernel frees however the process ends.
 * Resolves with what holds it until it is closed; undefined: another process has it.
 */
export async function holdDirectory(use: DirectoryUse, dir: string): Promise<Server | undefined> {
  // That of a run directory is known to older versions too.
  return hold(await lockName(use === 'run' ? 'svc' : `svc-${use}`, dir))
}

/** Takes the sole right to be the unit of a site, as `holdDirectory` does with a directory. */
export async function holdSite(runDir: string, site: string): Promise<Server | undefined> {
  return hold(await lockName('svc-site', runDir, `\n${site}`))
}

async function hold(name: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy())
  server.unref()
  server.listen({ path: `\0${name}` })
  try {
    await once(server, 'listening')
    return server
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE') return undefined
    throw error
  }
}

/**
 * Takes the sole right to a directory that two servers must not share: they would serve each other's pages, whose sites may be
 * others, and know nothing of each other's purges. The returned function gives it back.
 * @throws SUP_DIRECTORY_TAKEN
 */
export async function lockDirectory(use: 'state' | 'cache', dir: string, key: string): Promise<() => void> {
  const holder = await holdDirectory(use, dir)
  if (holder !== undefined) return () => holder.close()
  throw new SupervisorError('SUP_DIRECTORY_TAKEN', `another server uses ${dir} (${key})`)
}
