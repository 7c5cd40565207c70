import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type Cleanup, PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { WebSocket, WebSocketServer } from 'ws'

/** Upstream of event streams and WebSockets. */
export interface Upstream {
  readonly address: string
  /** Sends to all streams of events that are open. */
  say(text: string): void
}

/** An upstream on loopback that opens a stream of events for each request, and answers each message of a WebSocket with its path and text. */
export async function startUpstream(t: Cleanup): Promise<Upstream> {
  const streams = new Set<ServerResponse>()
  const server = createServer((_request, response) => {
    streams.add(response)
    response.on('close', () => streams.delete(response))
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket, { url }) => socket.on('message', (data) => socket.send(`${url} ${data}`)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.closeAllConnections()
    server.close()
  })
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    say: (text) => {
      for (const stream of streams) stream.write(text)
    },
  }
}

const askedAs = (host: string) => ({ headers: { host }, servername: host, rejectUnauthorized: false })

/** Opens a WebSocket to a host of a server. */
export async function openSocket(t: Cleanup, url: string, host: string): Promise<WebSocket> {
  const socket = new WebSocket(url.replace('http', 'ws'), askedAs(host))
  t.after(() => socket.terminate())
  await once(socket, 'open')
  return socket
}

/** Sends a message and resolves with the next one that comes. */
export async function say(socket: WebSocket, text: string): Promise<string> {
  socket.send(text)
  const [answer] = (await once(socket, 'message')) as [Buffer]
  return answer.toString()
}

/** Events as a client gets them. */
export class Events {
  text = ''
  readonly ended: Promise<unknown>

  private constructor(response: IncomingMessage) {
    response.setEncoding('utf8').on('data', (text: string) => {
      this.text += text
    })
    this.ended = once(response, 'end')
    // A stream that is cut is told of by who waits for its end.
    this.ended.catch(() => undefined)
  }

  static async open(t: Cleanup, url: string, host: string): Promise<Events> {
    const asked = (url.startsWith('https') ? secureRequest : request)(url, { ...askedAs(host), agent: false })
    t.after(() => asked.destroy())
    asked.end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    assert.deepEqual([response.statusCode, response.headers['content-type']], [200, 'text/event-stream'])
    return new Events(response)
  }

  async has(text: string): Promise<void> {
    await waitFor(`${text} in ${this.text}`, () => this.text.includes(text), PROCESS_WAIT_MS)
  }
}
