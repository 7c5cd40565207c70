import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Child, type Server, startServer, svcCommand, tempDir, tempSite, writeCertificate, writeFiles } from '@svc/testkit'
import { Events, openSocket, say, startUpstream, type Upstream } from './long-connections.ts'

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

/**
 * The product with a vhost over TLS, whose location and a route rule lead to one upstream, and with an application. It has one worker,
 * which closes all connections at once.
 */
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
  const config = `[server]\nengine_tls = "${engine}"\nworkers = 1\nvhosts = ["${dir}/*.conf"]\n${rule}`
  return { server: await startServer(t, { config }), dir, upstream }
}

for (const engine of ['uws', 'node']) {
  test(`${engine}: WebSockets and events over TLS survive a reload, and are closed properly when the server ends`, async (t) => {
    const product = await startProduct(t, engine)
    const { server, dir, upstream } = product
    const sockets = await Promise.all(['/ws', '/rule/ws'].map((path) => openSocket(t, server.url + path, 'a.test')))
    const streams = await Promise.all(['/events', '/rule/events'].map((path) => Events.open(t, server.url + path, 'a.test')))
    const ofApp = await Events.open(t, `${server.url}/app/events`, 'a.test')
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
    // The application decides how soon it sends the event.
    assert.equal(ofApp.text.replace(/^:\n\n/, ''), `data: app\n\n${goodbye}`)
    for (const { text } of streams) {
      // Before the first event there was none: the comment says that the connection is there.
      assert.equal(text, `:\n\ndata: before\n\ndata: after\n\ndata: half and half\n\n${goodbye}`)
    }
    assert.deepEqual(await server.child.exited, { code: 0, signal: null })
  })
}
