import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { requireProgram, tempDir } from '@svc/testkit'
import { writeChain } from './nginx/certificate-chain.ts'
import { Differential } from './nginx/differential.ts'

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
upstream up.test { server ${tls}; }
server { listen {on0}; server_name a.test; proxy_ssl_session_reuse off; proxy_ssl_protocols TLSv1.2; ${written.join('\n')}
  location /group/ { proxy_pass https://up.test/; proxy_ssl_server_name on; proxy_ssl_verify on; proxy_ssl_trusted_certificate ${dir}/root.pem; }
  location /made/ { set $to up.test; proxy_pass https://$to/; proxy_ssl_server_name on; } }`
}

test('connections with TLS to upstreams are made as with nginx', async (t) => {
  if (requireProgram(t, 'openssl') === undefined || requireProgram(t, 'nginx') === undefined) return
  const dir = tempDir(t, 'upstream-tls')
  writeChain(dir)
  const text = conf(await startUpstream(t, dir), dir)
  const servers = await Differential.start(t, { conf: text })
  const names = [...text.matchAll(/location \/([\w-]+)\//g)].map(([, name]) => `/${name}/x?name=made.test`)
  await servers?.compare(
    t,
    names.map((target) => ({ target })),
  )
})
