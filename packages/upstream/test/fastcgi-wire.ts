import { createServer, type Server, type Socket } from 'node:net'
import type { Cleanup } from '@svc/testkit'

/** Makes a record. */
export function record(type: number, content: Uint8Array, padding = 0, requestId = 1): Buffer {
  const head = Buffer.from([1, type, 0, requestId, 0, 0, padding, 0])
  head.writeUInt16BE(content.byteLength, 4)
  return Buffer.concat([head, content, Buffer.alloc(padding, 0xff)])
}

/** A record that has come whole. */
export interface WireRecord {
  readonly type: number
  readonly content: Buffer
}

/** Takes whole records apart. */
export function recordsOf(bytes: Buffer): WireRecord[] {
  const records: WireRecord[] = []
  for (let at = 0; at + 8 <= bytes.byteLength; ) {
    const length = bytes.readUInt16BE(at + 4)
    if (at + 8 + length > bytes.byteLength) break
    records.push({ type: bytes[at + 1] ?? 0, content: bytes.subarray(at + 8, at + 8 + length) })
    at += 8 + length + (bytes[at + 6] ?? 0)
  }
  return records
}

/** Parameters of the last request of a connection, by name; of one that came several times, the last. */
export function paramsOf({ records }: { readonly records: readonly WireRecord[] }): Map<string, string> {
  const from = records.findLastIndex(({ type }) => type === 1)
  const content = Buffer.concat(
    records
      .slice(from)
      .filter(({ type }) => type === 4)
      .map((one) => one.content),
  )
  const params = new Map<string, string>()
  let at = 0
  const length = () => {
    const isLong = (content[at] ?? 0) >= 0x80
    const value = isLong ? content.readUInt32BE(at) - 0x80_00_00_00 : (content[at] ?? 0)
    at += isLong ? 4 : 1
    return value
  }
  while (at < content.byteLength) {
    const [nameBytes, valueBytes] = [length(), length()]
    params.set(
      content.toString('latin1', at, at + nameBytes),
      content.toString('latin1', at + nameBytes, at + nameBytes + valueBytes),
    )
    at += nameBytes + valueBytes
  }
  return params
}

/** One connection as a scripted application sees it. */
export class WireConnection {
  readonly socket: Socket
  received = Buffer.alloc(0)
  isClosed = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (data: Buffer) => {
      this.received = Buffer.concat([this.received, data])
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.isClosed = true
    })
  }

  get records(): WireRecord[] {
    return recordsOf(this.received)
  }

  send(...records: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(records))
  }
}

/** An application that does what a script says. */
export interface WireApplication {
  readonly address: string
  readonly connections: readonly WireConnection[]
}

/** Starts an application whose script runs when a request has come whole, with its number on that connection. */
export async function startWire(
  t: Cleanup,
  script: (connection: WireConnection, index: number) => void,
): Promise<WireApplication> {
  const connections: WireConnection[] = []
  const server: Server = createServer((socket) => {
    const connection = new WireConnection(socket)
    connections.push(connection)
    let answered = 0
    socket.on('data', () => {
      const whole = connection.records.filter(({ type, content }) => type === 5 && content.byteLength === 0).length
      while (answered < whole) script(connection, answered++)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const { socket } of connections) socket.destroy()
    server.close()
  })
  const bound = server.address()
  return { address: `127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`, connections }
}
