import { closeSync, constants, openSync } from 'node:fs'
import { connect, type Server, Socket, type SocketConstructorOpts } from 'node:net'
import { basename, dirname } from 'node:path'
import { asError } from '../errors/app-error.ts'

/** `sun_path` of Linux holds 108 bytes with the final NUL. */
const MAX_PATH_BYTES = 107

/** A way to a socket that the kernel takes, until it is released. */
interface ShortPath {
  readonly path: string
  readonly release: () => void
}

/** A path of any length, by way of an open descriptor of its directory. @throws what the system says of the directory */
function shorten(path: string): ShortPath {
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return { path, release: () => undefined }
  const directory = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY)
  return { path: `/proc/self/fd/${directory}/${basename(path)}`, release: () => closeSync(directory) }
}

/** Connects to a unix socket whose path may have any length. A failure is an event of the socket, as with `connect`. */
export function connectUnix(path: string, options: Pick<SocketConstructorOpts, 'onread'> = {}): Socket {
  let short: ShortPath
  try {
    short = shorten(path)
  } catch (error) {
    return new Socket().destroy(asError(error))
  }
  try {
    return connect({ ...options, path: short.path })
  } finally {
    // The kernel has looked the path up by now: connecting is one call to it.
    short.release()
  }
}

/**
 * Listens on a unix socket whose path may have any length. A failure is an event of the server, as with `listen`.
 * @throws what the system says of the directory
 */
export function listenUnix(server: Server, path: string): void {
  const short = shorten(path)
  server.once('error', short.release)
  server.once('listening', () => {
    server.off('error', short.release)
    // Closing a server removes its socket by the path that it was given.
    server.once('close', short.release)
  })
  server.listen({ path: short.path })
}
