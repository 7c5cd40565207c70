// Starts first: it starts many servers.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { connect } from 'node:tls'
import {
  type CertificatePaths,
  Child,
  fetchHttp,
  requireProgram,
  type Server,
  startLoad,
  startServer,
  svcCommand,
  tempDir,
  waitFor,
  writeCertificate,
  writeFiles,
} from '@svc/testkit'
import { WebSocket, WebSocketServer } from 'ws'
import { reloaded } from './control.ts'

/** The full proof asks for 100,000; each run of the tests makes do with fewer. */
const LOAD_REQUESTS = Number(process.env['LOAD_REQUESTS'] ?? 500)
const RELOADS = 5

/** Common name of the certificate that a client gets. */
async function subjectAt(url: string, servername: string): Promise<string> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', servername, rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect')
    return String(socket.getPeerCertificate().subject.CN)
  } finally {
    socket.destroy()
  }
}

/** The protocol that a client gets that prefers HTTP/2; false: the server does not choose. */
async function protocolAt(url: string, servername: string): Promise<string | false | null> {
  const ALPNProtocols = ['h2', 'http/1.1']
  const { port, hostname: host } = new URL(url)
  const socket = connect({ port: Number(port), host, servername, rejectUnauthorized: false, ALPNProtocols })
  try {
    await once(socket, 'secureConnect')
    return socket.alpnProtocol
  } finally {
    socket.destroy()
  }
}

/** Output of `openssl s_client` about the server's certificate. */
function seenByOpenssl(openssl: string, url: string, servername: string): string {
  const args = ['s_client', '-connect', new URL(url).host, '-servername', servername]
  return execFileSync(openssl, args, { input: '', encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] })
}

async function reload({ configFile = '' }: Server): Promise<Child> {
  const command = new Child({ after: () => undefined }, svcCommand, ['reload', '--config', configFile])
  await command.exited
  return command
}

function certificate(dir: string, name: string, ...hosts: string[]): CertificatePaths {
  return writeCertificate(dir, name, { commonName: name, hosts })
}

/** The address that speaks TLS. */
function secureUrl({ ready }: Server): string {
  return ready.listen.find((url) => url.startsWith('https:')) ?? assert.fail('an address speaks TLS')
}

/** A server whose vhost files, in `dir`, listen on a free port with TLS. */
async function startVhosts(t: TestContext, dir: string, vhosts: string, more = ''): Promise<Server> {
  writeFiles(dir, { 'a.conf': vhosts })
  return startServer(t, { config: `[server]\nworkers = 2\nvhosts = ["${dir}/*.conf"]\n${more}` })
}

describe('certificates', () => {
  test('sites, vhost files and tls.certs have theirs by name, on the addresses where they are served', async (t) => {
    const dir = tempDir(t, 'tls')
    const [shop, web, rest] = [
      certificate(dir, 'shop', 'shop.test'),
      certificate(dir, 'web', 'web.test', '*.web.test'),
      certificate(dir, 'rest', 'other.test', '*.other.test'),
    ]
    writeFiles(dir, {
      'site/public/index.html': 'shop',
      'a.conf': `server { listen 127.0.0.1:0 ssl; server_name .web.test; ssl_certificate ${web.cert}; ssl_certificate_key ${web.key}; return 200 "$scheme $host"; }`,
    })
    const server = await startServer(t, {
      config: `[server]\nlisten_tls = "127.0.0.2:0"\nvhosts = ["${dir}/*.conf"]
[[tls.certs]]\ncert = "${rest.cert}"\nkey = "${rest.key}"
[[sites]]\nid = "shop"\nhostnames = ["shop.test", "*.shop.test"]\nroot = "${dir}/site"\ntls_cert = "${shop.cert}"\ntls_key = "${shop.key}"\n`,
    })
    const [own = '', ofVhosts = ''] = ['127.0.0.2', '127.0.0.1'].map((host) =>
      server.ready.listen.find((url) => url.includes(`https://${host}`)),
    )
    const names = ['shop.test', 'x.shop.test', 'web.test', 'a.web.test', 'a.other.test', 'none.test']
    const seen = async (url: string) => {
      const found: string[] = []
      for (const name of names) {
        const { host, port } = { host: new URL(url).hostname, port: Number(new URL(url).port) }
        const socket = connect({ port, host, servername: name, rejectUnauthorized: false })
        await once(socket, 'secureConnect')
        found.push(String(socket.getPeerCertificate().subject.CN))
        socket.destroy()
      }
      return found.join(' ')
    }
    assert.equal(await seen(own), 'shop shop rest rest rest rest')
    assert.equal(await seen(ofVhosts), 'shop shop web web rest web')
    assert.equal((await fetchHttp(`${ofVhosts}/`, { host: 'x.web.test' })).text, 'https x.web.test')
    assert.equal((await fetchHttp(`${own}/`, { host: 'shop.test' })).text, 'shop')
    // Keys are for the server alone, and gone with it.
    const copies = join(dirname(server.configFile ?? ''), 'run/tls')
    assert.equal(readdirSync(copies).length, 6)
    assert.equal((await server.child.stop()).code, 0)
    assert.deepEqual(readdirSync(copies), [])
    assert.doesNotMatch(server.child.stdout, /SNI|finding/)
  })

  test('a mismatched or partial pair is rejected, and the old one stays in use', async (t) => {
    const dir = tempDir(t, 'tls')
    const first = certificate(dir, 'first', 'a.test')
    const second = certificate(dir, 'second', 'a.test')
    const vhost = (cert: string) =>
      `server { listen 127.0.0.1:0 ssl; server_name a.test; ssl_certificate ${cert}; ssl_certificate_key ${first.key}; return 200 "$host"; }`
    const server = await startVhosts(t, dir, vhost(first.cert))
    const url = secureUrl(server)
    const health = async () => {
      const { text } = await fetchHttp(`${url}/__svc/health`, { host: 'a.test' })
      return JSON.parse(text).checks['tls_certs'] as string
    }
    assert.equal(await health(), 'ok')
    writeFiles(dir, { 'a.conf': vhost(second.cert) })
    const mixed = await reload(server)
    assert.equal((await mixed.exited).code, 78)
    assert.match(mixed.stderr, /a\.conf:1:\d\d+: ssl_certificate_key: .*first\.key does not match the certificate .*second\.crt/)
    writeFiles(dir, { 'a.conf': vhost(first.cert) })
    const whole = readFileSync(first.key, 'utf8')
    writeFileSync(first.key, whole.slice(0, whole.length / 2))
    const half = await reload(server)
    assert.equal((await half.exited).code, 78)
    assert.match(half.stderr, /first\.key is not a private key in PEM form/)
    assert.match(await health(), /^degraded: .*first\.key is not a private key/)
    assert.equal(await subjectAt(url, 'a.test'), 'first')
    writeFileSync(first.key, whole)
    await reloaded(server)
    assert.equal(await health(), 'ok')
  })

  test('an expired one is served and reported', async (t) => {
    const dir = tempDir(t, 'tls')
    const validity = { from: new Date('2020-01-01'), to: new Date('2020-02-01') }
    const { cert, key } = writeCertificate(dir, 'old', { commonName: 'old', hosts: ['a.test'], validity })
    const server = await startVhosts(
      t,
      dir,
      `server { listen 127.0.0.1:0 ssl; server_name a.test b.test; ssl_certificate ${cert}; ssl_certificate_key ${key}; return 200 "$host"; }`,
    )
    assert.equal(await subjectAt(secureUrl(server), 'a.test'), 'old')
    const { status, text } = await fetchHttp(`${secureUrl(server)}/__svc/health`, { host: 'a.test' })
    assert.equal(status, 503)
    assert.match(text, /"tls_certs":"degraded: .*old\.crt has expired"/)
    assert.match(server.child.stderr, /old\.crt expired on 2020-02-01/)
    assert.match(server.child.stderr, /old\.crt does not cover b\.test/)
  })
})

for (const engine of ['uws', 'node'])
  describe(`engine ${engine}: a reload`, () => {
    const onEngine = `engine_tls = "${engine}"\n`
    test('gives new connections the new certificate, while a WebSocket and a connection of before go on', async (t) => {
      const openssl = requireProgram(t, 'openssl')
      if (openssl === undefined) return
      const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
      t.after(() => sockets.close())
      sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(`echo ${data}`)))
      await once(sockets, 'listening')
      const { port } = sockets.address() as AddressInfo
      const dir = tempDir(t, 'tls')
      const { cert, key } = certificate(dir, 'first', 'a.test')
      const server = await startVhosts(
        t,
        dir,
        `server { listen 127.0.0.1:0 ssl; server_name a.test; ssl_certificate ${cert}; ssl_certificate_key ${key};
        location / { return 200 "$scheme"; }
        location /ws { proxy_pass http://127.0.0.1:${port}; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; } }`,
        onEngine,
      )
      const url = secureUrl(server)
      // The type leaves out what TLS takes besides.
      const named = { servername: 'a.test' }
      const client = new WebSocket(`${url.replace('https', 'wss')}/ws`, {
        ...named,
        headers: { host: 'a.test' },
        rejectUnauthorized: false,
      })
      t.after(() => client.terminate())
      await once(client, 'open')
      const say = async (text: string) => {
        client.send(text)
        const [answer] = (await once(client, 'message')) as [Buffer]
        return answer.toString()
      }
      const held = connect({
        port: Number(new URL(url).port),
        host: '127.0.0.1',
        servername: 'a.test',
        rejectUnauthorized: false,
      })
      t.after(() => held.destroy())
      await once(held, 'secureConnect')
      assert.equal(await say('before'), 'echo before')
      assert.match(seenByOpenssl(openssl, url, 'a.test'), /^subject=CN ?= ?first$/m)
      const next = certificate(dir, 'second', 'a.test')
      writeFileSync(cert, readFileSync(next.cert))
      writeFileSync(key, readFileSync(next.key))
      await reloaded(server)
      assert.match(seenByOpenssl(openssl, url, 'a.test'), /^subject=CN ?= ?second$/m)
      assert.equal(await say('after'), 'echo after')
      // ALPN tells the engines apart.
      assert.equal(await protocolAt(url, 'a.test'), engine === 'node' ? 'h2' : false)
      held.write('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
      const [answer] = (await once(held, 'data')) as [Buffer]
      assert.match(answer.toString(), /^HTTP\/1\.1 200 [\s\S]*https$/)
    })

    test('fails no request over TLS, with certificates that change', async (t) => {
      const dir = tempDir(t, 'tls')
      const names = Array.from({ length: 20 }, (_, at) => `v${at}.test`)
      const servers = names.map((name) => {
        const { cert, key } = certificate(dir, name, name)
        return `server { listen 127.0.0.1:0 ssl; server_name ${name}; ssl_certificate ${cert}; ssl_certificate_key ${key}; return 200 "${name}"; }`
      })
      const server = await startVhosts(t, dir, servers.join('\n'), onEngine)
      const url = secureUrl(server)
      const loads = ['v0.test', 'v7.test'].map((host) => startLoad(t, { url: `${url}/`, host, keepAlive: 2, fresh: 1 }))
      const done = () => loads.reduce((sum, load) => sum + load.done(), 0)
      for (let round = 1; round <= RELOADS; round++) {
        await waitFor(`${round}/${RELOADS} of the load`, () => done() >= (LOAD_REQUESTS * round) / RELOADS, 300_000)
        writeCertificate(dir, 'v7.test', { commonName: `round ${round}`, hosts: ['v7.test'] })
        await reloaded(server)
        assert.equal(await subjectAt(url, 'v7.test'), `round ${round}`)
        assert.equal(await subjectAt(url, 'v0.test'), 'v0.test')
      }
      const reports = await Promise.all(loads.map((load) => load.stop()))
      assert.deepEqual(
        reports.flatMap(({ failures }) => failures.slice(0, 5)),
        [],
      )
      assert.ok(reports.reduce((sum, { ok }) => sum + ok, 0) >= LOAD_REQUESTS)
    })
  })

test('plain HTTP goes to https, and who has another host than its connection is sent away', async (t) => {
  const dir = tempDir(t, 'tls')
  const [a, b] = [certificate(dir, 'a', 'a.test'), certificate(dir, 'b', 'b.test')]
  const block = (name: string, { cert, key }: CertificatePaths) =>
    `server { listen 127.0.0.1:0; listen 127.0.0.2:0 ssl; server_name ${name}; ssl_certificate ${cert}; ssl_certificate_key ${key}; return 200 "${name}"; }`
  const more = '[tls]\nredirect_http = true\nhsts_max_age_secs = 60\n'
  const server = await startVhosts(t, dir, `${block('a.test', a)}\n${block('b.test', b)}`, more)
  const secure = secureUrl(server)
  const plain = server.ready.listen.find((url) => url.startsWith('http:')) ?? ''
  const redirect = await fetchHttp(`${plain}/x?y`, { host: 'b.test' })
  assert.deepEqual([redirect.status, redirect.headers.location], [308, `https://b.test:${new URL(secure).port}/x?y`])
  const answer = await fetchHttp(`${secure}/`, { host: 'b.test' })
  assert.deepEqual([answer.text, answer.headers['strict-transport-security']], ['b.test', 'max-age=60'])
  const socket = connect({
    port: Number(new URL(secure).port),
    host: '127.0.0.2',
    servername: 'a.test',
    rejectUnauthorized: false,
  })
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  socket.write('GET / HTTP/1.1\r\nHost: b.test\r\n\r\n')
  const [text] = (await once(socket, 'data')) as [Buffer]
  assert.match(text.toString(), /^HTTP\/1\.1 421 /)
})

test('a free port for plain HTTP and one for TLS are two, and stay over a reload', async (t) => {
  const dir = tempDir(t, 'two-ports')
  const { cert, key } = certificate(dir, 'one', 'one.test')
  writeFiles(dir, { 'site/public/index.html': 'hello' })
  const server = await startServer(t, {
    config: `[server]
listen = "127.0.0.1:0"
listen_tls = "127.0.0.1:0"
[[sites]]
id = "one"
hostnames = ["one.test"]
root = "${dir}/site"
tls_cert = "${cert}"
tls_key = "${key}"
`,
  })
  const [plain = '', secure = ''] = server.ready.listen
  assert.match(plain, /^http:/)
  assert.match(secure, /^https:/)
  assert.equal(await subjectAt(secure, 'one.test'), 'one')
  const before = new Child(t, svcCommand, ['status', '--config', server.configFile ?? ''])
  await before.exited
  for (const url of [plain, secure]) assert.ok(before.stdout.includes(url), before.stdout)
  const { stderr } = await reload(server)
  const after = new Child(t, svcCommand, ['status', '--config', server.configFile ?? ''])
  await after.exited
  for (const url of [plain, secure]) assert.ok(after.stdout.includes(url), stderr)
  assert.equal((await fetchHttp(`${plain}/`, { host: 'one.test' })).status, 200)
})

test('engines stand side by side, chosen for each address, and a reload moves an address from one to the other', async (t) => {
  const dir = tempDir(t, 'engines')
  const { cert, key } = certificate(dir, 'one', 'one.test')
  const block = (address: string, more: string) =>
    `server { listen ${address}; server_name one.test; ssl_certificate ${cert}; ssl_certificate_key ${key}; ${more} return 200 one; }`
  const vhosts = (first: string) =>
    [block('127.0.0.1:0 ssl', first), block('127.0.0.2:0 ssl', ''), block('127.0.0.3:0 ssl http2', '')].join('\n')
  const server = await startVhosts(t, dir, vhosts('svc_engine node;'), 'engine_tls = "uws"\n')
  const urls = ['127.0.0.1', '127.0.0.2', '127.0.0.3'].map(
    (host) => server.ready.listen.find((url) => url.includes(`//${host}:`)) ?? assert.fail(host),
  )
  const protocols = () => Promise.all(urls.map((url) => protocolAt(url, 'one.test')))
  assert.deepEqual(await protocols(), ['h2', false, 'h2'])
  const load = startLoad(t, { url: `${urls[0]}/`, host: 'one.test', keepAlive: 2, fresh: 0 })
  const goesOn = async () => {
    const done = load.done()
    await waitFor('more of the load', () => load.done() > done + 20)
  }
  await goesOn()
  writeFiles(dir, { 'a.conf': vhosts('') })
  await reloaded(server)
  assert.deepEqual(await protocols(), [false, false, 'h2'])
  await goesOn()
  writeFiles(dir, { 'a.conf': vhosts('http2 on;') })
  await reloaded(server)
  assert.deepEqual(await protocols(), ['h2', false, 'h2'])
  await goesOn()
  assert.deepEqual((await load.stop()).failures, [])
  writeFiles(dir, { 'a.conf': vhosts('http2 on; svc_engine uws;') })
  const failed = await reload(server)
  assert.equal((await failed.exited).code, 78)
  assert.match(
    failed.stderr,
    /a\.conf:1:\d+: "svc_engine uws" chooses engine "uws" for 127\.0\.0\.1:0, "http2 on" engine "node" \(the other is at .*a\.conf:1:\d+; an address has one engine\)/,
  )
})
