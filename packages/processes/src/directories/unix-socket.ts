import { once } from 'node:events'
import { lstat, unlink } from 'node:fs/promises'
import { codeOf, connectUnix, messageOf } from '@svc/core'
import type { ListenAddress } from '@svc/protocol'
import { SupervisorError } from '../errors/errors.ts'

/** True if a program listens on a socket. */
export async function isServed(path: string): Promise<boolean> {
  const socket = connectUnix(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    // No listener, or the socket was deleted between two checks; any other error counts as a listener.
    return codeOf(error) !== 'ECONNREFUSED' && codeOf(error) !== 'ENOENT'
  } finally {
    socket.destroy()
  }
}

/**
 * Frees the path of a unix socket: deletes the socket of a killed server, and nothing else: no socket with a listener, and no file
 * of another kind.
 * @throws SUP_LISTEN
 */
export async function freeSocketPath(path: string): Promise<void> {
  const refuse = (reason: string, cause?: unknown) =>
    new SupervisorError('SUP_LISTEN', `cannot listen on unix:${path}: ${reason}`, cause === undefined ? {} : { cause })
  try {
    const found = await lstat(path)
    if (!found.isSocket()) throw refuse('the path is a file of another kind')
    if (await isServed(path)) throw refuse('the socket is in use')
    await unlink(path)
  } catch (error) {
    if (error instanceof SupervisorError) throw error
    if (codeOf(error) !== 'ENOENT') throw refuse(messageOf(error), error)
  }
}

/** Deletes the sockets of addresses that no longer have a listener. */
export async function removeSockets(left: readonly ListenAddress[], kept: readonly ListenAddress[] = []): Promise<void> {
  const paths = new Set(kept.map(({ socket }) => socket))
  for (const { socket } of left) if (socket !== undefined && !paths.has(socket)) await removeSocket(socket)
}

/** Deletes the socket of an address without a listener. Keeps one that another program has made since. */
async function removeSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isSocket() !== true || (await isServed(path))) return
  // Deleted already, or in a directory that is no longer ours: no process can listen on it either way.
  await unlink(path).catch(() => undefined)
}
