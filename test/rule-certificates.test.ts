import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type Cleanup, fetchHttp, startServer, tempDir, writeCertificate, writeFiles } from '@svc/testkit'

/** An upstream behind TLS on loopback, whose certificate is for its address or for another. */
async function startTls(
  t: Cleanup,
  dir: string,
  id: string,
  host: string,
): Promise<{ readonly port: number; readonly cert: string }> {
  const { cert, key } = writeCertificate(dir, id, { commonName: id, hosts: [host] })
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (_request, response) =>
    response.end('secret'),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, cert }
}

test('the upstream of a route rule must be who its URL says, that of proxy_pass need not', async (t) => {
  const dir = tempDir(t, 'certificates')
  const own = await startTls(t, dir, 'own', 'localhost')
  const other = await startTls(t, dir, 'other', 'other.test')
  const authorities = { 'all.pem': readFileSync(own.cert, 'utf8') + readFileSync(other.cert, 'utf8') }
  const pass = `location / { proxy_pass https://localhost:${other.port}; }`
  writeFiles(dir, { ...authorities, 'web.conf': `server { listen 127.0.0.1:0; server_name a.localhost; ${pass} }` })
  const rule = (path: string, port: number) => `[[route_rules]]\npattern = "/${path}"\nupstream = "https://localhost:${port}"\n`
  const config = `[server]\nworkers = 1\nvhosts = ["${dir}/web.conf"]\n${rule('own', own.port)}${rule('other', other.port)}`
  const statuses = async (env: Record<string, string>) => {
    const { url } = await startServer(t, { config, env })
    const ask = async (path: string) => (await fetchHttp(url + path, { host: 'a.localhost' })).status
    return [await ask('/own'), await ask('/other'), await ask('/passed')]
  }
  assert.deepEqual(await statuses({}), [502, 502, 200])
  assert.deepEqual(await statuses({ NODE_EXTRA_CA_CERTS: `${dir}/all.pem` }), [200, 502, 200])
})
