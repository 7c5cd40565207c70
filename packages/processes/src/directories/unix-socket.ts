import { once } from 'node:events'
import { lstat, unlink } from 'node:fs/promises'
import { codeOf, connectUnix, messageOf } from '@svc/core'
import type { ListenAddress } from '@svc/protocol'
import { SupervisorError } from '../errors/errors.ts'

/** Whether a program listens on a socket. */
export async function isServed(path: string): Promise<boolean> {
  const socket = connectUnix(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    // Nobody listens, or it went between two looks; anything else is as good as an answer.
    return codeOf(error) !== 'ECONNREFUSED' && codeOf(error) !== 'ENOENT'
  } finally {
    socket.destroy()
  }
}

/**
 * Makes the path of a unix socket free to listen on: what a server that was killed left behind is removed. Nothing else is:
 * not a socket that a program listens on, and not a file of another kind.
 * @throws SUP_LISTEN
 */
export async function freeSocketPath(path: string): Promise<void> {
  const refuse = (reason: string, cause?: unknown) =>
    new SupervisorError('SUP_LISTEN', `cannot listen on unix:${path}: ${reason}`, cause === undefined ? {} : { cause })
  try {
    const found = await lstat(path)
    if (!found.isSocket()) throw refuse('there is a file of another kind')
    if (await isServed(path)) throw refuse('the socket is in use')
    await unlink(path)
  } catch (error) {
    if (error instanceof SupervisorError) throw error
    if (codeOf(error) !== 'ENOENT') throw refuse(messageOf(error), error)
  }
}

/** Removes the sockets of addresses that are listened on no more. */
export async function removeSockets(left: readonly ListenAddress[], kept: readonly ListenAddress[] = []): Promise<void> {
  const paths = new Set(kept.map(({ socket }) => socket))
  for (const { socket } of left) if (socket !== undefined && !paths.has(socket)) await removeSocket(socket)
}

/** Removes the socket of an address that is listened on no more. One that another program has made since is left. */
async function removeSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isSocket() !== true || (await isServed(path))) return
  // Gone already, or in a directory that is not ours any more: nobody can listen on it either way.
  await unlink(path).catch(() => undefined)
}
