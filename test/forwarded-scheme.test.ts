import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchHttp, startServer, tempSite } from '@svc/testkit'

const files = {
  'app/api/route.ts': `import { headers } from 'next/headers'
export const GET = async (request: any) => Response.json([request.url, request.nextUrl.protocol, (await headers()).get('x-forwarded-proto')])`,
  'app/page.tsx': `export const metadata = { openGraph: { images: '/i.png' } }
export default () => <p>home</p>`,
  'middleware.ts': `import { NextResponse } from 'next/server'
export const config = { matcher: '/moved' }
export default (request: any) => NextResponse.redirect(new URL('/api', request.url))`,
}

async function ask(t: Parameters<typeof startServer>[0], trusted: string) {
  const site = `[[sites]]\nid = "one"\nhostnames = ["one.test"]\nroot = "${tempSite(t, files)}"\n`
  const server = await startServer(t, { config: `[server]\nlisten = "127.0.0.1:0"\nworkers = 1\n${trusted}\n${site}` })
  return (path: string, headers: Record<string, string>) =>
    fetchHttp(`${server.url}${path}`, { headers: { host: 'one.test', ...headers } })
}

test('code of a site sees the scheme that a trusted proxy names, and pages of both schemes are kept apart', async (t) => {
  const get = await ask(t, 'trusted_proxies = ["127.0.0.1"]')
  const https = { 'x-forwarded-proto': 'https' }
  assert.deepEqual(JSON.parse((await get('/api', https)).text), ['https://one.test/api', 'https:', 'https'])
  assert.deepEqual(JSON.parse((await get('/api', { ...https, forwarded: 'proto=http' })).text), [
    'http://one.test/api',
    'http:',
    'http',
  ])
  assert.deepEqual(JSON.parse((await get('/api', { forwarded: 'proto=https' })).text), [
    'https://one.test/api',
    'https:',
    'https',
  ])
  assert.match(String((await get('/moved', https)).headers['location']), /^https:\/\/one\.test\/api$|^\/api$/)
  for (let i = 0; i < 3; i++) {
    assert.match((await get('/', https)).text, /og:image" content="https:\/\/one\.test\/i\.png"/)
    assert.match((await get('/', {})).text, /og:image" content="http:\/\/one\.test\/i\.png"/)
  }
})

test('an untrusted peer is not believed about the scheme', async (t) => {
  const get = await ask(t, '')
  for (const said of [{ 'x-forwarded-proto': 'https' }, { forwarded: 'proto=https' }] as Record<string, string>[]) {
    assert.deepEqual(JSON.parse((await get('/api', said)).text), ['http://one.test/api', 'http:', 'http'])
    assert.match((await get('/', said)).text, /og:image" content="http:\/\/one\.test\/i\.png"/)
  }
})
