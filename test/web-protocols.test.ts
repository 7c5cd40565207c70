import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { startServer, talk, tempDir, writeCertificate, writeFiles } from '@svc/testkit'

test('engine node: a vhost by HTTP/2, HTTP/1.1 and HTTP/1.0, with names, HSTS and rules', async (t) => {
  const dir = tempDir(t, 'protocols')
  const block = (name: string) => {
    const { cert, key } = writeCertificate(dir, name, { commonName: name, hosts: [`${name}.test`] })
    return `server { listen 127.0.0.1:0 ssl; listen 127.0.0.2:0; server_name ${name}.test; ssl_certificate ${cert}; ssl_certificate_key ${key};
      location / { return 200 "${name} $server_protocol $scheme"; } location /gone { return 410; } }`
  }
  writeFiles(dir, { 'a.conf': `${block('a')}\n${block('b')}` })
  const rules =
    '[[route_rules]]\npattern = "/gone"\nredirect = "/new"\n[[route_rules]]\npattern = "/**"\nheaders = { x-rule = "yes" }\n'
  const { ready } = await startServer(t, {
    config: `[server]\nengine = "node"\nworkers = 1\nvhosts = ["${dir}/*.conf"]\n${rules}[tls]\nhsts_max_age_secs = 60\n`,
  })
  const [secure, plain] = ['https:', 'http:'].map((scheme) => new URL(ready.listen.find((url) => url.startsWith(scheme)) ?? ''))
  assert.ok(secure !== undefined && plain !== undefined)
  const tls = { servername: 'b.test', rejectUnauthorized: false }

  const session = connectHttp2(secure.href, tls)
  t.after(() => session.destroy())
  const ask = async (authority: string, path: string) => {
    const stream = session.request({ ':authority': authority, ':path': path })
    const [fields] = (await once(stream, 'response')) as [IncomingHttpHeaders]
    let text = ''
    for await (const chunk of stream.setEncoding('utf8')) text += chunk
    return { fields, text }
  }
  const { fields, text } = await ask('b.test', '/x')
  assert.deepEqual([fields[':status'], text], [200, 'b HTTP/2.0 https'])
  assert.deepEqual([fields['strict-transport-security'], fields['x-rule']], ['max-age=60', 'yes'])
  assert.equal((await ask('a.test', '/x')).fields[':status'], 421)
  const redirect = (await ask('b.test', '/gone')).fields
  assert.deepEqual([redirect[':status'], redirect.location], [308, '/new'])

  const port = Number(secure.port)
  const overTls = await talk(
    connectTls({ port, host: secure.hostname, ...tls }),
    'GET / HTTP/1.1\r\nHost: b.test\r\n\r\nGET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n',
  )
  assert.match(overTls, /^HTTP\/1\.1 200 [\s\S]*\r\n\r\nb HTTP\/1\.1 httpsHTTP\/1\.1 421 /)
  const tell = (bytes: string) => talk(connectTcp(Number(plain.port), plain.hostname), bytes)
  const old = await tell('GET /x HTTP/1.0\r\nHost: a.test\r\n\r\n')
  assert.match(old, /^HTTP\/1\.1 200 [\s\S]*\r\n\r\na HTTP\/1\.0 http$/)
  assert.doesNotMatch(old, /strict-transport-security/i)
  assert.match(await tell('OPTIONS * HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'), /^HTTP\/1\.1 20[04] /)
})

test('engine node: a redirect names a host where HTTP/1.0 names none, or none', async (t) => {
  const dir = tempDir(t, 'hostless')
  const location = 'location = /to { return 301 /there; }'
  writeFiles(dir, {
    'a.conf': `server { listen 127.0.0.3:0; server_name named.test other.test; ${location} }
      server { listen 0.0.0.0:0; server_name all.test; ${location} }
      server { listen 127.0.0.4:0; svc_site wild; server_name *.wild.test; ${location} }`,
  })
  const { ready } = await startServer(t, {
    config: `[server]\nengine = "node"\nworkers = 1\nvhosts = ["${dir}/*.conf"]\ntrusted_proxies = ["127.0.0.1"]\n`,
  })
  const [named, all, wild] = ['127.0.0.3', '0.0.0.0', '127.0.0.4'].map((host) => {
    const url = ready.listen.find((listened) => listened.includes(`//${host}:`))
    return Number(new URL(url ?? '').port)
  })
  const to = async (port: number | undefined, host: string, fields = '') => {
    const answer = await talk(
      connectTcp({ port: port ?? 0, host, localAddress: '127.0.0.1' }),
      `GET /to HTTP/1.0\r\n${fields}\r\n`,
    )
    return /^location: (.*)\r$/im.exec(answer)?.[1]
  }
  assert.equal(await to(named, '127.0.0.3'), `http://127.0.0.3:${named}/there`)
  assert.equal(await to(all, '127.0.0.1'), `http://all.test:${all}/there`)
  const forwarded = 'X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n'
  assert.equal(await to(named, '127.0.0.3', forwarded), 'https://named.test/there')
  assert.equal(await to(wild, '127.0.0.4', forwarded), '/there')
  assert.equal(await to(named, '127.0.0.3', `${forwarded}X-Forwarded-Host: seen.test\r\n`), 'https://seen.test/there')
})
