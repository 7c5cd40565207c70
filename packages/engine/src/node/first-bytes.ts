import type { Socket } from 'node:net'

/** What the first bytes of a connection say, and those that its next reader gets. */
export interface FirstBytes<T> {
  readonly value: T
  readonly rest: Buffer
}

/**
 * Reads the first bytes of a connection, and puts back those that are for its next reader. A connection that ends before, or that takes
 * too long, is closed.
 * @param parse gets all bytes so far; undefined: more are needed. It must bound them.
 */
export function readFirstBytes<T>(
  socket: Socket,
  timeoutMs: number,
  parse: (bytes: Buffer) => FirstBytes<T> | undefined,
  onValue: (value: T) => void,
): void {
  let bytes = Buffer.alloc(0)
  const finish = () => {
    clearTimeout(timer)
    socket.off('readable', read)
    socket.off('end', close)
    socket.off('close', finish)
    socket.off('error', close)
  }
  const close = () => {
    finish()
    socket.destroy()
  }
  const read = () => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      bytes = Buffer.concat([bytes, chunk])
    }
    const parsed = parse(bytes)
    if (parsed === undefined) return
    finish()
    if (parsed.rest.byteLength > 0) socket.unshift(parsed.rest)
    onValue(parsed.value)
  }
  const timer = setTimeout(close, timeoutMs)
  socket.on('readable', read)
  socket.on('end', close)
  socket.on('close', finish)
  socket.on('error', close)
}
