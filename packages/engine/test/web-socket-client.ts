import { once } from 'node:events'
import { request } from 'node:http'
import { WebSocket } from 'ws'
import type { ContractSocket, WebSocketSubject } from './engine-websocket-contract.ts'

/** Fields of a good handshake. */
const handshakeFields = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
} as const

/** A handshake with these fields in place of good ones; undefined takes one away. */
export function handshakeWith(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const all = Object.entries({ ...handshakeFields, ...fields })
  return Object.fromEntries(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

/** A client of the suite that the test can look into. */
export interface NetworkSocket extends ContractSocket {
  readonly webSocket: WebSocket
}

/** Opens a WebSocket; a number is the status of the answer that declined. */
export async function openSocket(url: string, protocols: readonly string[] = []): Promise<NetworkSocket | number> {
  const webSocket = new WebSocket(url, [...protocols], { rejectUnauthorized: false, maxPayload: 0 })
  const messages: { data: Buffer; isBinary: boolean }[] = []
  let wanted: (() => void) | undefined
  const fields: Record<string, string | string[] | undefined> = {}
  webSocket.on('message', (data, isBinary) => {
    messages.push({ data: data as Buffer, isBinary })
    wanted?.()
  })
  webSocket.on('upgrade', (response) => Object.assign(fields, response.headers))
  const closed = new Promise<[number, string]>((resolve) =>
    webSocket.once('close', (code, reason) => resolve([code, reason.toString()])),
  )
  const declined = once(webSocket, 'unexpected-response').then(([, response]) => Number(response.statusCode))
  declined.catch(() => undefined)
  const opened = once(webSocket, 'open').then(() => undefined)
  opened.catch(() => undefined)
  const status = await Promise.race([opened, declined])
  webSocket.on('error', () => undefined)
  if (status !== undefined) {
    webSocket.terminate()
    return status
  }
  return {
    webSocket,
    protocol: webSocket.protocol,
    fields,
    closed,
    send: (data, isBinary) => webSocket.send(data, { binary: isBinary }),
    close: (code, reason) => webSocket.close(code, reason),
    vanish: () => webSocket.terminate(),
    pause: () => webSocket.pause(),
    resume: () => webSocket.resume(),
    next: async () => {
      while (messages.length === 0) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wanted = resolve
        await promise
      }
      return messages.shift() ?? { data: Buffer.alloc(0), isBinary: false }
    },
  }
}

/** A subject of the suite behind a port. */
export function networkSubject(port: number, engine: WebSocketSubject['engine'], problems: Error[]): WebSocketSubject {
  return {
    engine,
    problems,
    open: (protocols) => openSocket(`ws://127.0.0.1:${port}/socket`, protocols),
    handshake: async (fields) => {
      const asked = request({
        port,
        host: '127.0.0.1',
        path: '/socket',
        headers: handshakeWith(fields),
        agent: false,
      })
      asked.end()
      const [response] = await once(asked, 'response')
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      return { status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString() }
    },
  }
}
