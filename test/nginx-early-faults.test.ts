// Pages for plain HTTP on addresses that speak TLS, and for client certificates that are missing or not valid.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { fetchHttp, requireProgram, tempDir } from '@svc/testkit'
import { writeChain } from './nginx/certificate-chain.ts'
import { type Case, Differential } from './nginx/differential.ts'
import { ask, type Peer } from './nginx/raw-answer.ts'

const conf = (dir: string) => {
  const tls = `ssl_certificate ${dir}/leaf.pem; ssl_certificate_key ${dir}/leaf.key;`
  const server = (on: number, name: string, text: string) =>
    `server { listen {on${on}} ssl; server_name ${name}.test; svc_site ${name}; ${tls} ${text}
      location / { return 200 "$scheme $server_name $request_uri"; }
      location /pages/ { alias {dir}/; }
      location /echoed { proxy_pass http://{echo}; }
      location @named { return 200 "named $uri $scheme $request_method"; }
      location @refused { deny all; } }`
  const guarded = `ssl_verify_client on; ssl_client_certificate ${dir}/root.pem;`
  return [
    'server { listen {on0}; server_name plain.test; error_page 497 /never; return 200 plain; }',
    server(1, 'redirect', 'error_page 497 https://$host:$server_port$request_uri;'),
    server(1, 'moved', 'error_page 497 =301 https://$host$request_uri;'),
    server(1, 'kept', 'error_page 497 =307 https://$http_host$request_uri;'),
    server(1, 'page', 'error_page 497 /pages/497.txt;'),
    server(1, 'ok', 'error_page 497 =200 /pages/497.txt;'),
    server(1, 'named', 'error_page 497 = @named;'),
    server(1, 'echo', 'error_page 497 = /echoed;'),
    server(1, 'refused', 'error_page 497 @refused;'),
    server(1, 'other', 'error_page 400 /pages/497.txt;'),
    server(1, 'none', ''),
    server(2, 'without', ''),
    server(3, 'guarded', `${guarded} error_page 496 /pages/497.txt; error_page 495 =403 /pages/497.txt;`),
    server(3, 'sent', `${guarded} error_page 495 496 https://certificates.test$request_uri;`),
    server(3, 'asked', `${guarded} error_page 495 496 = @named;`),
    server(3, 'four', `${guarded} error_page 400 @named;`),
    server(3, 'both', `${guarded} error_page 497 https://$host$request_uri; error_page 496 =401 /pages/497.txt;`),
  ].join('\n')
}

const names = ['redirect', 'moved', 'kept', 'page', 'ok', 'named', 'echo', 'refused', 'other', 'none', 'unknown']
const paths = ['/', '/a/b?c=d', '/pages/497.txt', '//x/../y%20z', '/__svc/health', '/health', '/.well-known/x']

const plain: readonly Case[] = [
  ...names.flatMap((name) => paths.map((target) => ({ on: 1, host: `${name}.test`, target }))),
  ...names.flatMap((name) => [
    { on: 1, host: `${name}.test`, target: '/x', method: 'HEAD' },
    { on: 1, host: `${name}.test`, target: '/x', method: 'POST', body: 'sent' },
    { on: 1, host: `${name}.test:81`, target: '/x', version: '1.0' as const },
  ]),
  { on: 1, host: null, target: '/x' },
  { on: 3, host: 'guarded.test', target: '/x' },
  { on: 3, host: 'both.test', target: '/x' },
  { on: 0, host: 'plain.test', target: '/x' },
]

type Client = 'none' | 'leaf' | 'other'

/** Status, place and body of a response over TLS. */
async function overTls(dir: string, { host, port }: Peer, client: Client, name: string, target: string): Promise<string> {
  const read = (file: string) => readFileSync(join(dir, file))
  const chain = client === 'leaf' ? Buffer.concat([read('leaf.pem'), read('middle.pem')]) : read('other.pem')
  const own = client === 'none' ? {} : { cert: chain, key: read(client === 'leaf' ? 'leaf.key' : 'other.key') }
  const socket = connect({ host, port, servername: name, rejectUnauthorized: false, ...own })
  await once(socket, 'secureConnect')
  socket.write(`GET ${target} HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`)
  let text = ''
  for await (const chunk of socket.setEncoding('latin1')) text += chunk
  const status = text.split(' ')[1]
  const place = /^location: (.*)\r$/im.exec(text)?.[1] ?? ''
  const body = text.slice(text.indexOf('\r\n\r\n') + 4)
  return `${status} ${place} ${body.startsWith('<html>') ? 'page' : body}`
}

test('faults that come before any location have pages, as with nginx', async (t) => {
  if (requireProgram(t, 'openssl') === undefined || requireProgram(t, 'nginx') === undefined) return
  const dir = tempDir(t, 'early-faults')
  writeChain(dir)
  const servers = await Differential.start(t, { conf: conf(dir), addresses: 4, files: { '497.txt': 'the page' } })
  if (servers === undefined) return
  await servers.compare(t, plain)

  const [[, nginx] = [], ...products] = servers.placesOf(3)
  assert.ok(nginx)
  for (const name of ['guarded', 'sent', 'asked', 'four', 'both']) {
    for (const client of ['none', 'leaf', 'other'] as const) {
      await t.test(`${name} with ${client}`, async () => {
        const theirs = await overTls(dir, nginx, client, `${name}.test`, '/x?y')
        for (const [engine, peer] of products)
          assert.equal(await overTls(dir, peer, client, `${name}.test`, '/x?y'), theirs, engine)
      })
    }
  }

  await t.test('requests over TLS are answered beside them', async () => {
    const [[, nginx] = [], ...products] = servers.placesOf(1)
    assert.ok(nginx)
    const theirs = await overTls(dir, nginx, 'none', 'redirect.test', '/x')
    for (const [engine, peer] of products) assert.equal(await overTls(dir, peer, 'none', 'redirect.test', '/x'), theirs, engine)
  })

  await t.test('an address without such a page answers with a short one', async () => {
    for (const [engine, peer] of servers.placesOf(2))
      assert.equal((await ask(peer, 'GET /x HTTP/1.1\r\nHost: without.test\r\nConnection: close\r\n\r\n')).status, 400, engine)
  })

  await t.test('no endpoint of the service is reached without TLS', async () => {
    for (const [engine, { host, port }] of servers.placesOf(1).slice(1)) {
      const answer = await fetchHttp(`http://${host}:${port}/__svc/cache/stats`, { host: 'localhost' })
      assert.notEqual(answer.status, 200, engine)
    }
  })
})
