import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { HeaderList } from '@svc/http'
import { waitFor } from '@svc/testkit'
import { PipelineServer, shop } from './pipeline-server.ts'

const PUBLIC: HeaderList = [['cache-control', 'public, max-age=60']]
const NAVIGATION = { 'sec-fetch-mode': 'navigate' }
const cookieIn = (more = '') => `[scaling]\nsession_affinity = "cookie"\ninstance_id = "web-1"\n${more}`

async function start(t: TestContext, more: string, headers: HeaderList = []) {
  const server = await PipelineServer.start(t, [{ ...shop, files: { ...shop.files, 'public/a.html': 'file' } }], more)
  server.intercept = (context) => {
    if (context.request.path === '/a.html') return 'next'
    context.respond({ status: 200, headers: [['content-type', 'text/html'], ...headers] }, Buffer.from('page'))
    return 'answered'
  }
  const get = (path: string, fields: Record<string, string> = {}) => server.get(path, { headers: fields })
  return { server, get }
}

test('a client gets the cookie with its first response, and not again on its instance', async (t) => {
  const { get } = await start(t, cookieIn())
  assert.equal((await get('/')).headers['set-cookie'], 'SVC_SID=web-1; Path=/; HttpOnly; SameSite=Lax')
  assert.equal((await get('/', { cookie: 'theme=dark; SVC_SID=web-1' })).headers['set-cookie'], undefined)
  const moved = await get('/', { cookie: 'SVC_SID=web-9' })
  assert.match(moved.headers['set-cookie'] ?? '', /^SVC_SID=web-1;/, 'the instance of before is gone')
  assert.equal((await get('/__svc/health')).headers['set-cookie'], undefined)
})

test('the cookie has the name of the configuration', async (t) => {
  const { get } = await start(t, cookieIn('session_cookie_name = "lb"\n'))
  assert.match((await get('/')).headers['set-cookie'] ?? '', /^lb=web-1;/)
  assert.equal((await get('/', { cookie: 'lb=web-1' })).headers['set-cookie'], undefined)
})

test('no cookie is set without affinity, or with that by address', async (t) => {
  for (const more of ['', '[scaling]\nsession_affinity = "ip_hash"\n']) {
    const { get } = await start(t, more)
    assert.equal((await get('/', NAVIGATION)).headers['set-cookie'], undefined)
  }
})

test('a response that caches share sets it for the page that a browser opens alone', async (t) => {
  const { get } = await start(t, cookieIn(), PUBLIC)
  assert.equal((await get('/')).headers['set-cookie'], undefined)
  assert.equal((await get('/', { 'sec-fetch-mode': 'no-cors' })).headers['set-cookie'], undefined)
  assert.match((await get('/', NAVIGATION)).headers['set-cookie'] ?? '', /^SVC_SID=/)
})

test('L0 keeps responses without it, and leaves the first page of a browser to the pipeline', async (t) => {
  const { get } = await start(t, cookieIn())
  const isHit = async (fields: Record<string, string> = {}) =>
    (await get('/a.html', fields)).headers['cache-status'] === 'svc-l0; hit'
  await waitFor('the file is in L0', () => isHit())
  const first = await get('/a.html', NAVIGATION)
  assert.match(first.headers['set-cookie'] ?? '', /^SVC_SID=web-1;/)
  assert.equal(first.text, 'file')
  for (const cookie of ['SVC_SID=web-1', 'SVC_SID=web-1; SVC_ADMIN=x']) assert.ok(await isHit({ ...NAVIGATION, cookie }), cookie)
  const other = await get('/a.html')
  assert.deepEqual([other.headers['cache-status'], other.headers['set-cookie']], ['svc-l0; hit', undefined])
})
