import { connect, type Socket } from 'node:net'
import type { HostileCase } from './case.ts'
import { ResponseReader } from './response-reader.ts'

/** Outcome of a conversation. */
export interface Outcome {
  readonly statuses: readonly number[]
  readonly text: string
  readonly isClosed: boolean
  /** The connection was reset while the client still sent: an answer that was there may be lost (RFC 9112 section 9.6). */
  readonly isCutWhileSending: boolean
}

/** Well past the idle time of the library, also on a loaded machine. */
const DEADLINE_MS = 60_000
const PROBE = 'GET / HTTP/1.1\r\nHost: probe.test\r\nConnection: close\r\n\r\n'

function opened(port: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
  socket.once('error', reject)
  return promise
}

function written(socket: Socket, bytes: string | Buffer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // An error is seen as the end of the connection; what counts is what the server did.
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, () => setImmediate(resolve))
  return promise
}

async function sendAll(socket: Socket, hostile: HostileCase, mark: string): Promise<void> {
  for (const segment of hostile.send) {
    if (socket.destroyed) return
    await written(socket, typeof segment === 'string' ? segment.replaceAll('{mark}', mark) : segment)
  }
  if (hostile.ending === 'half-close') socket.end()
  if (hostile.ending === 'reset') socket.resetAndDestroy()
}

/** Holds a conversation and waits until its outcome is certain. */
export async function converse(port: number, hostile: HostileCase, mark: string): Promise<Outcome> {
  const socket = await opened(port)
  const reader = new ResponseReader(hostile.heads ?? [])
  const finished = Promise.withResolvers<boolean>()
  const expected = Math.max(...hostile.allow.map((statuses) => statuses.length))
  let isProbed = false
  let isCutWhileSending = false
  const look = () => {
    if (hostile.then !== 'open' || isProbed || reader.statuses.length < expected) return
    isProbed = true
    socket.write(PROBE)
  }
  socket.on('data', (data: Buffer) => {
    reader.push(data)
    look()
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    isCutWhileSending ||= error.syscall === 'write'
  })
  socket.once('close', () => finished.resolve(true))
  socket.once('end', () => finished.resolve(true))
  const timer = setTimeout(() => finished.resolve(false), DEADLINE_MS)
  await sendAll(socket, hostile, mark)
  const isClosed = await finished.promise
  clearTimeout(timer)
  reader.end()
  socket.destroy()
  return { statuses: reader.statuses, text: reader.text, isClosed, isCutWhileSending }
}
