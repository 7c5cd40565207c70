import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'

/** Frame types of HTTP/2 (RFC 9113 section 6). */
export const frames = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const
export const flags = { endStream: 1, endHeaders: 4, ack: 1 } as const

/** One frame as it came. */
export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

export function frame(type: number, flag: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.byteLength, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flag, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A text in HPACK, not compressed (RFC 7541 section 5.2). */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  if (bytes.byteLength < 127) return Buffer.concat([Buffer.from([bytes.byteLength]), bytes])
  const length = [127]
  let rest = bytes.byteLength - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128)
  return Buffer.concat([Buffer.from([...length, rest]), bytes])
}

/** A header block of these fields, each as a literal that is not indexed. */
export function block(...fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
}

/** A header block that puts a field into the table and then names it `times` times (RFC 7541 section 6.1). */
export function bomb(value: string, times: number): Buffer {
  return Buffer.concat([Buffer.from([0x40]), text('x-bomb'), text(value), Buffer.alloc(times, 0x80 | 62)])
}

/** Fields of a plain request. */
export function line(method: string, path: string): readonly (readonly [string, string])[] {
  return [
    [':method', method],
    [':scheme', 'https'],
    [':path', path],
    [':authority', 'a.test'],
  ]
}

export const getBlock = block(...line('GET', '/'))

/** A connection that sends whatever it is told. */
export class RawHttp2 {
  readonly socket: TLSSocket
  readonly received: Frame[] = []
  readonly closed: Promise<unknown>
  #buffer = Buffer.alloc(0)

  constructor(socket: TLSSocket) {
    this.socket = socket
    socket.on('error', () => undefined)
    socket.on('data', (data: Buffer) => this.#take(data))
    this.closed = new Promise((resolve) => socket.once('close', resolve))
  }

  send(...parts: readonly Buffer[]): void {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(parts))
  }

  /** Error code of the frame that reset a stream. */
  resetOf(stream: number): number | undefined {
    const found = this.received.find((one) => one.type === frames.reset && one.stream === stream)
    return found?.payload.readUInt32BE(0)
  }

  get isSentAway(): boolean {
    return this.socket.destroyed || this.received.some(({ type }) => type === frames.goaway)
  }

  #take(data: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, data])
    while (this.#buffer.byteLength >= 9) {
      const end = 9 + this.#buffer.readUIntBE(0, 3)
      if (this.#buffer.byteLength < end) return
      this.received.push({
        type: this.#buffer.readUInt8(3),
        flags: this.#buffer.readUInt8(4),
        stream: this.#buffer.readUInt32BE(5),
        payload: this.#buffer.subarray(9, end),
      })
      this.#buffer = this.#buffer.subarray(end)
    }
  }
}

/** Opens a connection and sends the preface. */
export async function openRaw(t: TestContext, port: number): Promise<RawHttp2> {
  const socket = connect({ port, host: '127.0.0.1', ALPNProtocols: ['h2'], servername: 'a.test', rejectUnauthorized: false })
  t.after(() => socket.destroy())
  const raw = new RawHttp2(socket)
  await once(socket, 'secureConnect')
  raw.send(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(frames.settings, 0, 0))
  return raw
}
