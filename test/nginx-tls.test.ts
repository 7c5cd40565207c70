import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { requireProgram, tempDir } from '@svc/testkit'
import { writeChain } from './nginx/certificate-chain.ts'
import { Differential } from './nginx/differential.ts'
import type { Peer } from './nginx/raw-answer.ts'

/** An upstream that answers with what it saw of the handshake. */
async function startUpstream(t: TestContext, dir: string): Promise<string> {
  const read = (name: string) => readFileSync(join(dir, name))
  const cert = Buffer.concat([read('leaf.pem'), read('middle.pem')])
  const settings = { cert, key: read('leaf.key'), requestCert: true, rejectUnauthorized: false }
  const server = createServer(settings, ({ socket }, response) => {
    const tls = socket as TLSSocket
    const cipher = tls.getProtocol() === 'TLSv1.2' ? tls.getCipher().standardName : ''
    response.writeHead(200, { 'content-type': 'text/plain' })
    response.end([tls.servername, tls.getPeerCertificate().subject?.CN, tls.getProtocol(), cipher].join('|'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const CIPHERS = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'AES128-GCM-SHA256',
]

/** Servers with one and two certificates, and with lists of ciphers. */
const secureServers = (dir: string) => {
  const [ec, rsa] = ['leaf', 'rsa'].map((name) => `ssl_certificate ${dir}/${name}.pem; ssl_certificate_key ${dir}/${name}.key;`)
  const server = (on: number, name: string, text: string) =>
    `server { listen {on${on}} ssl; svc_engine node; ssl_protocols TLSv1.2 TLSv1.3; server_name ${name}; ${text} return 200 "$server_name"; }`
  return [
    server(1, 'both.test', `${ec} ${rsa}`),
    server(1, 'listed.test', `${ec} ssl_ciphers ECDHE-ECDSA-CHACHA20-POLY1305;`),
    server(1, '*.wild.test', `${rsa} ssl_ciphers "TLS_AES_128_GCM_SHA256 AES128-GCM-SHA256,ECDHE-RSA-AES256-GCM-SHA384";`),
    server(1, 'both-listed.test', `${ec} ${rsa} ssl_ciphers HIGH:!CHACHA20:!AES128:!aNULL;`),
    server(1, 'rejected.test both.test', 'ssl_reject_handshake on;'),
    server(3, 'known.test', `${ec}`),
    `server { listen {on3} ssl default_server; svc_engine node; svc_site none; ssl_protocols TLSv1.2 TLSv1.3; ssl_reject_handshake on; }`,
    server(2, 'first.test', `${ec} ssl_ciphers ECDHE-ECDSA-AES256-GCM-SHA384;`),
    server(2, 'second.test', `${rsa} ${ec}`),
  ].join('\n')
}

/** The result of a handshake of TLS 1.2 with one cipher, or of TLS 1.3: cipher, and name in the certificate; or no connection. */
async function handshake({ host, port }: Peer, servername: string, ciphers: string | undefined): Promise<string> {
  const only = ciphers === undefined ? {} : { ciphers, maxVersion: 'TLSv1.2' as const }
  const socket = connect({ host, port, servername, rejectUnauthorized: false, ...only })
  try {
    await once(socket, 'secureConnect')
    const cipher = ciphers === undefined ? socket.getProtocol() : socket.getCipher().standardName
    return `${cipher} ${socket.getPeerCertificate().subject.CN}`
  } catch {
    return 'refused'
  } finally {
    socket.destroy()
  }
}

const conf = (tls: string, dir: string) => {
  const verified = `proxy_ssl_verify on; proxy_ssl_trusted_certificate ${dir}/root.pem; proxy_ssl_name up.test;`
  const locations: Readonly<Record<string, string>> = {
    plain: '',
    name: 'proxy_ssl_server_name on;',
    'own-name': 'proxy_ssl_server_name on; proxy_ssl_name own.test:443;',
    'name-alone': 'proxy_ssl_name own.test;',
    'made-name': 'proxy_ssl_server_name on; proxy_ssl_name $arg_name;',
    verified: verified,
    deep: `${verified} proxy_ssl_verify_depth 1;`,
    shallow: `${verified} proxy_ssl_verify_depth 0;`,
    unnamed: `${verified.replace('up.test', 'other.test')}`,
    'by-address': `proxy_ssl_verify on; proxy_ssl_trusted_certificate ${dir}/root.pem;`,
    foreign: `${verified.replace('root.pem', 'other.pem')}`,
    clean: `${verified} proxy_ssl_crl ${dir}/clean.crl;`,
    revoked: `${verified} proxy_ssl_crl ${dir}/revoked.crl;`,
    client: `proxy_ssl_certificate ${dir}/client.pem; proxy_ssl_certificate_key ${dir}/client.key;`,
    locked: `proxy_ssl_certificate ${dir}/client.pem; proxy_ssl_certificate_key ${dir}/locked.key; proxy_ssl_password_file ${dir}/passwords;`,
    old: 'proxy_ssl_protocols TLSv1.2;',
    'new': 'proxy_ssl_protocols TLSv1.3;',
    cipher: 'proxy_ssl_protocols TLSv1.2; proxy_ssl_ciphers ECDHE-ECDSA-CHACHA20-POLY1305;',
    'no-cipher': 'proxy_ssl_protocols TLSv1.2; proxy_ssl_ciphers ECDHE-RSA-AES128-GCM-SHA256;',
  }
  const written = Object.entries(locations).map(([name, text]) => `location /${name}/ { proxy_pass https://${tls}/; ${text} }`)
  return `
${secureServers(dir)}
upstream up.test { server ${tls}; }
server { listen {on0}; server_name a.test; proxy_ssl_session_reuse off; proxy_ssl_protocols TLSv1.2; ${written.join('\n')}
  location /group/ { proxy_pass https://up.test/; proxy_ssl_server_name on; proxy_ssl_verify on; proxy_ssl_trusted_certificate ${dir}/root.pem; }
  location /made/ { set $to up.test; proxy_pass https://$to/; proxy_ssl_server_name on; } }`
}

test('connections with TLS are made as with nginx, to upstreams and by clients', async (t) => {
  if (requireProgram(t, 'openssl') === undefined || requireProgram(t, 'nginx') === undefined) return
  const dir = tempDir(t, 'upstream-tls')
  writeChain(dir)
  const text = conf(await startUpstream(t, dir), dir)
  const servers = await Differential.start(t, { conf: text, addresses: 4 })
  if (servers === undefined) return
  const names = [...text.matchAll(/location \/([\w-]+)\//g)].map(([, name]) => `/${name}/x?name=made.test`)
  await servers.compare(
    t,
    names.map((target) => ({ target })),
  )
  const handshakes = [
    ...['both.test', 'listed.test', 'a.wild.test', 'both-listed.test', 'rejected.test', 'unknown.test'].map(
      (name) => [1, name] as const,
    ),
    ...['known.test', 'unknown.test', ''].map((name) => [3, name] as const),
    ...['first.test', 'second.test', 'unknown.test'].map((name) => [2, name] as const),
  ]
  for (const [on, name] of handshakes) {
    for (const cipher of [...CIPHERS, undefined]) {
      await t.test(`handshake for ${name} on ${on}, ${cipher ?? 'TLS 1.3'}`, async () => {
        const [[, nginx], ...products] = servers.placesOf(on) as [readonly [string, Peer], ...(readonly [string, Peer])[]]
        const theirs = await handshake(nginx, name, cipher)
        for (const [engine, peer] of products) assert.equal(await handshake(peer, name, cipher), theirs, engine)
      })
    }
  }
})
