import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { ListenerTls } from '@svc/protocol'
import { waitFor } from '@svc/testkit'
import type { MemoryResponse } from '../../engine/test/inject/index.ts'
import { PipelineServer, type TestSite } from './pipeline-server.ts'

const site: TestSite = {
  id: 'shop',
  hostnames: ['shop.test', '*.shop.test', 'plain.test'],
  files: { 'public/index.html': 'home', 'public/.well-known/acme-challenge/token': 'proof' },
}
const proxied = '[server]\nlisten_tls = "127.0.0.1:8443"\ntrusted_proxies = ["127.0.0.1"]\n'
const overTls = { headers: { 'x-forwarded-proto': 'https' } }

function tlsFor(...names: string[]): ListenerTls {
  return { certificates: [], names: names.map((name) => [name, 'id'] as const), fallback: 'id', minVersion: '1.2' }
}

/** A server with an address that speaks TLS on this port, and certificates for these names. */
async function secure(t: TestContext, tls: string, port: number, ...names: string[]): Promise<PipelineServer> {
  const server = await PipelineServer.start(t, [site], '')
  server.listen = [
    { name: '127.0.0.1:8080', host: '127.0.0.1', port: 8080 },
    { name: 'other', host: '127.0.0.1', port: 9443, isTls: true },
    { name: '127.0.0.1:8443', host: '127.0.0.1', port, isTls: true },
  ]
  server.tls = { '127.0.0.1:8443': tlsFor(...names), other: tlsFor('other.shop.test', ...names) }
  await server.reload([site], `${proxied}[tls]\nauto = true\n${tls}`)
  return server
}

/** The first page from L0. A file that has just changed may change again unnoticed: it is not kept before it is a little older. */
function hit(server: PipelineServer, options = {}): Promise<MemoryResponse> {
  return waitFor('an answer from L0', async () => {
    const answer = await server.get('/', options)
    return answer.headers['cache-status'] === 'svc-l0; hit' ? answer : undefined
  })
}

describe('plain HTTP of a host with a certificate', () => {
  test('is sent to https on the address of the configuration, path and query kept', async (t) => {
    const server = await secure(t, 'redirect_http = true\n', 8443, 'shop.test', '*.shop.test')
    const answer = await server.get('/a%20b?c=d&e', { method: 'POST', host: 'SHOP.test:8080' })
    assert.equal(answer.status, 308)
    assert.equal(answer.headers['location'], 'https://shop.test:8443/a%20b?c=d&e')
    const below = await server.get('/', { host: 'x.shop.test' })
    assert.equal(below.headers['location'], 'https://x.shop.test:8443/')
  })

  test('goes to another address when that one alone has the name, and to no port when it is the usual one', async (t) => {
    const server = await secure(t, 'redirect_http = true\n', 443, 'shop.test')
    assert.equal((await server.get('/')).headers['location'], 'https://shop.test/')
    assert.equal((await server.get('/', { host: 'other.shop.test' })).headers['location'], 'https://other.shop.test:9443/')
  })

  test('is served without a certificate, to ACME challenges, and without redirect_http', async (t) => {
    const server = await secure(t, 'redirect_http = true\n', 8443, 'shop.test')
    assert.equal((await server.get('/', { host: 'plain.test' })).status, 200)
    assert.equal((await server.get('/.well-known/acme-challenge/token')).text, 'proof')
    assert.equal((await server.get('/', overTls)).status, 200)
    assert.equal((await server.get('/__svc/health')).status, 200)
    const without = await secure(t, 'redirect_http = false\n', 8443, 'shop.test')
    assert.equal((await without.get('/')).status, 200)
  })

  test('is not answered from L0 once there is a certificate', async (t) => {
    const server = await secure(t, 'redirect_http = true\n', 8443, 'other.test')
    await hit(server)
    server.tls = { '127.0.0.1:8443': tlsFor('shop.test') }
    await server.reload([site], `${proxied}[tls]\nauto = true\nredirect_http = true\n`)
    assert.equal((await server.get('/')).status, 308)
  })
})

describe('Strict-Transport-Security', () => {
  test('is on every answer over https, on none over plain HTTP, from L0 too', async (t) => {
    const server = await secure(t, 'hsts_max_age_secs = 3600\n', 8443, 'shop.test')
    for (let i = 0; i < 2; i++) {
      assert.equal((await server.get('/', overTls)).headers['strict-transport-security'], 'max-age=3600')
      assert.equal((await server.get('/')).headers['strict-transport-security'], undefined)
    }
    assert.equal((await hit(server, overTls)).headers['strict-transport-security'], 'max-age=3600')
    assert.equal((await hit(server)).headers['strict-transport-security'], undefined)
    assert.equal((await server.get('/none', overTls)).headers['strict-transport-security'], 'max-age=3600')
    assert.equal((await server.get('/__svc/health', overTls)).headers['strict-transport-security'], 'max-age=3600')
  })

  test('is not sent unless it is set, and an answer may say it itself', async (t) => {
    const server = await secure(t, '', 8443, 'shop.test')
    assert.equal((await server.get('/', overTls)).headers['strict-transport-security'], undefined)
    const own = await secure(t, 'hsts_max_age_secs = 3600\n', 8443, 'shop.test')
    own.intercept = (context) => {
      context.respond({ status: 200, headers: [['Strict-Transport-Security', 'max-age=1']] })
      return 'answered'
    }
    assert.equal((await own.get('/', overTls)).headers['strict-transport-security'], 'max-age=1')
  })
})

describe('proofs for certificate authorities', () => {
  const path = '/.well-known/acme-challenge/token'

  test('are answered before anything else while an order is open, and only then', async (t) => {
    const server = await secure(t, 'redirect_http = true\n', 8443, 'shop.test')
    assert.equal((await server.get(path)).text, 'proof')
    server.proofs.set('token', 'token.thumbprint')
    const answer = await server.get(path, { host: 'anybody.test' })
    assert.deepEqual([answer.status, answer.text], [200, 'token.thumbprint'])
    assert.equal(answer.headers['content-type'], 'application/octet-stream')
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal((await server.get(path, { method: 'HEAD' })).status, 200)
    // Other tokens and methods are the site's.
    assert.equal((await server.get('/.well-known/acme-challenge/other')).status, 404)
    assert.equal((await server.get(path, { method: 'POST' })).status, 405)
    server.proofs.clear()
    assert.equal((await server.get(path)).text, 'proof')
  })
})
