import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { realpath } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { codeOf } from '@svc/core'
import { SupervisorError } from '../errors.ts'

/** What a directory is held as: one directory may serve several purposes of one instance. */
export type DirectoryUse = 'run' | 'state' | 'cache'

/** The name of a directory's lock among the abstract sockets; that of a run directory is known to older versions too. */
async function lockName(use: DirectoryUse, dir: string): Promise<string> {
  const digest = createHash('sha256')
    .update(await realpath(dir))
    .digest('hex')
    .slice(0, 32)
  const prefix = use === 'run' ? 'svc' : `svc-${use}`
  return `${prefix}-${process.getuid?.() ?? 0}-${digest}`
}

/**
 * Takes the sole right to a directory: a socket in the abstract namespace, which the kernel frees however the process ends.
 * Resolves with what holds it until it is closed; undefined: another process has it.
 */
export async function holdDirectory(use: DirectoryUse, dir: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy())
  server.unref()
  server.listen({ path: `\0${await lockName(use, dir)}` })
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
