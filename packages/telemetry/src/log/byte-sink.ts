import { fstatSync, write } from 'node:fs'
import { Socket } from 'node:net'

/** Called once for each write: with an error, or with the number of bytes taken. */
export type Written = (error: NodeJS.ErrnoException | null, bytes: number) => void

/** Takes bytes without blocking the thread. One write at a time. */
export interface ByteSink {
  /** Most bytes of one write. */
  readonly maxBytes: number
  write(bytes: Buffer, done: Written): void
  /** Takes nothing further. The descriptor stays open where it is the owner's. */
  close(): void
}

/** Most bytes of one write to a file. */
const FILE_WRITE_BYTES = 64 * 1024
/** PIPE_BUF of Linux: a longer write to a pipe that several processes share could be torn apart by a neighbour's. */
const PIPE_WRITE_BYTES = 4096

/** Writes to a descriptor that others may hold as well: a file, a pipe, the socket of the journal. */
export function descriptorSink(fd: number): ByteSink {
  const maxBytes = fstatSync(fd).isFile() ? FILE_WRITE_BYTES : PIPE_WRITE_BYTES
  return {
    maxBytes,
    write: (bytes, done) => write(fd, bytes, 0, bytes.byteLength, null, done),
    close: () => undefined,
  }
}

/** Writes to a socket that is this process's alone. */
export function socketSink(fd: number): ByteSink {
  const socket = new Socket({ fd, readable: false, writable: true })
  socket.unref()
  // Each write reports its own error.
  socket.on('error', () => undefined)
  return {
    maxBytes: FILE_WRITE_BYTES,
    write: (bytes, done) => void socket.write(bytes, (error) => done(error ?? null, error ? 0 : bytes.byteLength)),
    close: () => socket.destroy(),
  }
}
