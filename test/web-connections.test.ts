import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import {
  Child,
  type Server,
  startServer,
  svcCommand,
  tempDir,
  tempSite,
  waitFor,
  writeCertificate,
  writeFiles,
} from '@svc/testkit'
import { WebSocket, WebSocketServer } from 'ws'

/** What streams of events and WebSockets lead to. */
interface Upstream {
  readonly address: string
  /** Sends to all streams of events that are open. */
  say(text: string): void
}

async function startUpstream(t: TestContext): Promise<Upstream> {
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

/** A site whose handler sends one event, and then nothing for as long as it is let. */
const events = `export const dynamic = 'force-dynamic'
export function GET() {
  const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('data: app\\n\\n')) })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}`

interface Product {
  readonly server: Server
  readonly dir: string
  readonly upstream: Upstream
}

/** The product with a vhost over TLS, whose location and a route rule lead to one upstream, and with an application. */
async function startProduct(t: TestContext, engine: string): Promise<Product> {
  const upstream = await startUpstream(t)
  const dir = tempDir(t, 'web')
  const { cert, key } = writeCertificate(dir, 'a', { commonName: 'a', hosts: ['a.test'] })
  writeFiles(dir, {
    'a.conf': `server { listen 127.0.0.1:0 ssl; server_name a.test; ssl_certificate ${cert}; ssl_certificate_key ${key};
      location / {
        proxy_pass http://${upstream.address}; proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;
      }
      location /rule/ { return 403; }
      location /app/ { svc_app ${tempSite(t, { 'app/app/events/route.ts': events, 'app/page.tsx': 'export default () => null' })}; } }`,
  })
  const rule = `[[route_rules]]\npattern = "/rule/**"\nupstream = "http://${upstream.address}"\nstrip_prefix = "/rule"\n`
  const config = `[server]\nengine = "${engine}"\nworkers = 2\nvhosts = ["${dir}/*.conf"]\n${rule}`
  return { server: await startServer(t, { config }), dir, upstream }
}

const named = { headers: { host: 'a.test' }, servername: 'a.test', rejectUnauthorized: false }

async function openSocket(t: TestContext, { server }: Product, path: string): Promise<WebSocket> {
  const socket = new WebSocket(`${server.url.replace('https', 'wss')}${path}`, named)
  t.after(() => socket.terminate())
  await once(socket, 'open')
  return socket
}

async function say(socket: WebSocket, text: string): Promise<string> {
  socket.send(text)
  const [answer] = (await once(socket, 'message')) as [Buffer]
  return answer.toString()
}

/** Events as a client gets them. */
class Events {
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

  static async open(t: TestContext, { server }: Product, path: string): Promise<Events> {
    const asked = (server.url.startsWith('https') ? secureRequest : request)(`${server.url}${path}`, { ...named, agent: false })
    t.after(() => asked.destroy())
    asked.end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    assert.deepEqual([response.statusCode, response.headers['content-type']], [200, 'text/event-stream'])
    return new Events(response)
  }

  async has(text: string): Promise<void> {
    await waitFor(`${text} in ${this.text}`, () => this.text.includes(text))
  }
}

for (const engine of ['uws', 'node']) {
  test(`${engine}: WebSockets and events over TLS go on over a reload, and are told when the server ends`, async (t) => {
    const product = await startProduct(t, engine)
    const { server, dir, upstream } = product
    const sockets = [await openSocket(t, product, '/ws'), await openSocket(t, product, '/rule/ws')]
    const streams = await Promise.all(['/events', '/rule/events'].map((path) => Events.open(t, product, path)))
    const ofApp = await Events.open(t, product, '/app/events')
    const all = async (word: string) => {
      upstream.say(`data: ${word}\n\n`)
      for (const stream of streams) await stream.has(`data: ${word}\n\n`)
      for (const socket of sockets) assert.equal(await say(socket, word), `/ws ${word}`)
    }
    await all('before')
    await ofApp.has('data: app\n\n')

    writeFiles(dir, { 'b.conf': 'server { listen 127.0.0.2:0; server_name b.test; return 200 b; }' })
    const reload = new Child(t, svcCommand, ['reload', '--config', server.configFile ?? ''])
    assert.deepEqual(await reload.exited, { code: 0, signal: null }, reload.stderr)
    await all('after')

    // The end comes in the middle of an event: it is sent whole, and nothing behind it.
    upstream.say('data: half')
    for (const stream of streams) await stream.has('data: half')
    const goodbyes = sockets.map((socket) => once(socket, 'close'))
    server.child.signal('SIGTERM')
    for (const [code] of await Promise.all(goodbyes)) assert.equal(code, 1001)
    await ofApp.ended
    upstream.say(' and half\n\ndata: lost\n\n')
    await Promise.all(streams.map(({ ended }) => ended))
    const goodbye = 'event: close\ndata:\n\n'
    // Whether the event was there in time is up to the application.
    assert.equal(ofApp.text.replace(/^:\n\n/, ''), `data: app\n\n${goodbye}`)
    for (const { text } of streams) {
      // Before the first event there was none: the comment says that the connection is there.
      assert.equal(text, `:\n\ndata: before\n\ndata: after\n\ndata: half and half\n\n${goodbye}`)
    }
    assert.deepEqual(await server.child.exited, { code: 0, signal: null })
  })
}
