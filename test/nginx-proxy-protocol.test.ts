// Connections that begin with a header of the PROXY protocol, as nginx answers them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { requireProgram, startServer, tempDir, writeFiles } from '@svc/testkit'
import { writeChain } from './nginx/certificate-chain.ts'
import { Differential, freePlaces } from './nginx/differential.ts'
import type { Peer } from './nginx/raw-answer.ts'

const latin1 = (text: string) => Buffer.from(text, 'latin1')
const SIGNATURE = latin1('\r\n\r\n\0\r\nQUIT\n')

/** A header of version 2. */
function binary(command: number, family: number, body: readonly number[], length = body.length): Buffer {
  return Buffer.concat([SIGNATURE, Buffer.from([command, family, length >> 8, length & 0xff]), Buffer.from(body)])
}

const of4 = [192, 0, 2, 9, 198, 51, 100, 2, 0x12, 0x34, 0, 80]
const of6 = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9].concat(Array(15).fill(0), [1, 0x12, 0x34, 0, 80])

const HEADERS: Readonly<Record<string, Buffer>> = {
  TCP4: latin1('PROXY TCP4 192.0.2.9 198.51.100.2 4660 80\r\n'),
  'an allowed client': latin1('PROXY TCP4 203.0.113.7 198.51.100.2 65535 443\r\n'),
  TCP6: latin1('PROXY TCP6 2001:db8::9 2001:db8::1 4660 80\r\n'),
  UNKNOWN: latin1('PROXY UNKNOWN\r\n'),
  'UNKNOWN with addresses': latin1('PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n'),
  'version 2 of TCP4': binary(0x21, 0x11, of4),
  'version 2 of TCP6': binary(0x21, 0x21, of6),
  'version 2 with an extension': binary(0x21, 0x11, [...of4, 4, 0, 2, 0x61, 0x62]),
  'version 2, local': binary(0x20, 0, []),
  'version 2, local with addresses': binary(0x20, 0x11, of4),
  'version 2 of UDP': binary(0x21, 0x12, of4),
  'version 2 of no family': binary(0x21, 0, []),
  'no header': latin1(''),
  'a bad address': latin1('PROXY TCP4 192.0.2.x 198.51.100.2 4660 80\r\n'),
  'a bad port': latin1('PROXY TCP4 192.0.2.9 198.51.100.2 66000 80\r\n'),
  'an unknown family': latin1('PROXY UDP4 192.0.2.9 198.51.100.2 4660 80\r\n'),
  'a line break alone': latin1('PROXY TCP4 192.0.2.9 198.51.100.2 4660 80\n'),
  'version 3': binary(0x31, 0x11, of4),
  'too short addresses': binary(0x21, 0x11, of4.slice(0, 8)),
}

/** Sends the header and a request; with `isSlow`, from there on byte by byte. @returns the status, and the body of a 200; "closed" without a response */
async function ask(
  peer: Peer,
  header: Buffer,
  target: string,
  options: { isTls?: boolean; isSlow?: 'header' | 'request'; host?: string } = {},
): Promise<string> {
  const plain = connect({ host: peer.host, port: peer.port, noDelay: true })
  plain.on('error', () => undefined)
  await once(plain, 'connect')
  const own = `${plain.localPort}`
  const answerOf = async (socket: Socket) => (await read(socket)).replaceAll(own, '{port}')
  const [, host = '', path = ''] = /^(\w+)(\/.*)$/.exec(target) ?? []
  const request = latin1(`GET ${path} HTTP/1.1\r\nHost: ${options.host ?? `${host}.test`}\r\nConnection: close\r\n\r\n`)
  if (options.isTls !== true) {
    const [first, slow] =
      options.isSlow === undefined
        ? [Buffer.concat([header, request]), latin1('')]
        : options.isSlow === 'request'
          ? [header, request]
          : [latin1(''), Buffer.concat([header, request])]
    plain.write(first)
    for (const byte of slow) await new Promise((resolve) => plain.write(Buffer.from([byte]), resolve))
    return answerOf(plain)
  }
  plain.write(header)
  const secure = connectTls({ socket: plain, servername: 'a.test', rejectUnauthorized: false })
  secure.on('error', () => undefined)
  secure.write(request)
  return answerOf(secure)
}

async function read(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await new Promise((resolve) => socket.once('close', resolve))
  const text = Buffer.concat(chunks).toString('latin1')
  const status = text.split(' ')[1]
  if (status !== '200') return text === '' ? 'closed' : `${status}`
  return `200 ${text.slice(text.indexOf('\r\n\r\n') + 4)}`
}

const conf = (dir: string) => {
  const variables = ['addr', 'port', 'server_addr', 'server_port'].map((name) => `$proxy_protocol_${name}`).join('|')
  const trusting = 'set_real_ip_from 127.0.0.0/8; real_ip_header proxy_protocol;'
  const sites = (listen: string) => `
server { listen ${listen}; server_name a.test;
  location /seen { return 200 "${variables}|$remote_addr"; }
  location /guarded/ { ${trusting} allow 203.0.113.0/24; deny all; alias {dir}/; }
  location /open/ { alias {dir}/; }
}
server { listen ${listen}; server_name real.test; ${trusting} svc_site real;
  location /addr { return 200 "$remote_addr|$remote_port|$proxy_add_x_forwarded_for|$proxy_protocol_addr"; }
  location /peer { return 200 "$realip_remote_addr|$realip_remote_port"; }
  location /deep { real_ip_recursive on; allow 192.0.2.9; deny all; alias {dir}/page.txt; }
  location /field { proxy_set_header X-Real-IP $remote_addr;
    proxy_set_header X-Proxied $proxy_protocol_addr:$proxy_protocol_port; proxy_pass http://{echo}; }
}
server { listen ${listen}; server_name strange.test; set_real_ip_from 192.0.2.0/24; real_ip_header proxy_protocol; svc_site strange;
  return 200 "$remote_addr|$proxy_protocol_addr";
}`
  const certificate = `ssl_certificate ${dir}/leaf.pem; ssl_certificate_key ${dir}/leaf.key;`
  // One server with the parameter speaks for all of the address.
  return `${certificate}
${sites('{on0}')}
${sites('{on1}').replace('{on1};', '{on1} proxy_protocol;')}
${sites('{on2} ssl proxy_protocol')}
`
}

/** Asks nginx and the product, and compares. */
async function compare(t: TestContext, servers: Differential, on: number, ask: (peer: Peer) => Promise<string>): Promise<string> {
  const [[, nginx] = [], ...products] = servers.placesOf(on)
  assert.ok(nginx)
  const mask = (text: string, peer: Peer) => text.replaceAll(peer.host, '{own}')
  const theirs = mask(await ask(nginx), nginx)
  for (const [engine, peer] of products) assert.equal(mask(await ask(peer), peer), theirs, `${t.name} with ${engine}`)
  return theirs
}

test('the PROXY protocol names clients as with nginx', async (t) => {
  if (requireProgram(t, 'openssl') === undefined || requireProgram(t, 'nginx') === undefined) return
  const dir = tempDir(t, 'proxy-protocol')
  writeChain(dir)
  const servers = await Differential.start(t, { conf: conf(dir), addresses: 3, files: { 'page.txt': 'page' } })
  if (servers === undefined) return
  const targets = [
    ...['a/seen', 'a/guarded/page.txt', 'a/open/page.txt', 'a/guarded/page.txt'],
    ...['real/addr', 'real/peer', 'real/deep', 'strange/'],
  ]

  for (const [name, header] of Object.entries(HEADERS)) {
    await t.test(name, async (t) => {
      for (const target of targets) {
        await compare(t, servers, 1, (peer) => ask(peer, header, target))
        await compare(t, servers, 2, (peer) => ask(peer, header, target, { isTls: true }))
      }
      const inOne = await compare(t, servers, 1, (peer) => ask(peer, header, 'real/addr'))
      const slow = await compare(t, servers, 1, (peer) => ask(peer, header, 'real/addr', { isSlow: 'request' }))
      assert.equal(slow, inOne)
      // nginx wants to see the whole header at once.
      for (const [, peer] of servers.placesOf(1).slice(1)) {
        assert.equal((await ask(peer, header, 'real/addr', { isSlow: 'header' })).replaceAll(peer.host, '{own}'), inOne)
      }
    })
  }

  await t.test('a client that is refused by its address is refused also where another one has filled a cache', async (t) => {
    const guarded = (name: string) =>
      compare(t, servers, 1, (peer) => ask(peer, HEADERS[name] ?? latin1(''), 'a/guarded/page.txt'))
    assert.equal(await guarded('an allowed client'), '200 page')
    assert.equal(await guarded('TCP4'), '403')
    assert.equal(await guarded('an allowed client'), '200 page')
  })

  await t.test('upstreams get the address', async (t) => {
    const seen = await compare(t, servers, 1, async (peer) => {
      const answer = await ask(peer, HEADERS['TCP4'] ?? latin1(''), 'real/field')
      return answer
        .split('\n')
        .filter((line) => /real-ip|proxied/i.test(line))
        .join('\n')
    })
    assert.match(seen, /192\.0\.2\.9/)
  })

  await t.test('without the parameter a header is no request', async () => {
    for (const [engine, peer] of servers.placesOf(0))
      assert.match(await ask(peer, HEADERS['TCP4'] ?? latin1(''), 'a/seen'), /^(?:400|505)$/, engine)
  })
})

test('the header names the client to the server itself where its proxy is trusted, and opens no endpoint of the machine', async (t) => {
  const dir = tempDir(t, 'proxied')
  const [place] = await freePlaces(1)
  assert.ok(place)
  const [host = ''] = place.hosts
  writeFiles(dir, {
    'vhosts.conf': `server { listen ${host}:${place.port} proxy_protocol; server_name a.test localhost;
  location /addr { return 200 "$remote_addr"; } location /svc/ { return 200 site; } }`,
  })
  const settings = `vhosts = ["${join(dir, 'vhosts.conf')}"]\nworkers = 1\n`
  const limit = '[rate_limit]\nenabled = true\nrequests_per_minute = 1\n'
  const named = (address: string) => latin1(`PROXY TCP4 ${address} 198.51.100.2 4660 80\r\n`)
  const peer = { host, port: place.port }
  const statsOf = (header: Buffer) => ask(peer, header, 'localhost/__svc/cache/stats', { host: 'localhost' })

  await t.test('of a proxy that is not trusted, nothing is believed', async (t) => {
    const server = await startServer(t, { config: `[server]\n${settings}` })
    assert.equal(await ask(peer, named('192.0.2.9'), 'a/addr'), '200 127.0.0.1')
    for (const header of [named('127.0.0.1'), latin1('PROXY UNKNOWN\r\n')]) assert.equal(await statsOf(header), '401')
    server.child.signal('SIGTERM')
    await server.child.exited
  })

  await t.test('a trusted one names the client of rules and limits', async (t) => {
    await startServer(t, { config: `[server]\ntrusted_proxies = ["127.0.0.0/8"]\n${settings}${limit}` })
    assert.equal(await ask(peer, named('192.0.2.9'), 'a/addr'), '200 192.0.2.9')
    for (const header of [named('127.0.0.1'), latin1('PROXY UNKNOWN\r\n')]) assert.match(await statsOf(header), /^401$/)
    // Two clients, each with a budget of its own: the second and third request of one are over it.
    const statuses: string[] = []
    for (let n = 0; n < 4; n++) statuses.push((await ask(peer, named('192.0.2.10'), 'a/addr')).slice(0, 3))
    assert.ok(statuses.includes('429'), statuses.join())
    assert.equal((await ask(peer, named('192.0.2.11'), 'a/addr')).slice(0, 3), '200')
  })
})
