import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { PROCESS_WAIT_MS, type Server, startServer, waitFor } from '@svc/testkit'
import { Backend, client, configOf, isr, restart, shown } from './backend.ts'
import { fileCleanup } from './file-cleanup.ts'

const noL0 = '[cache.l0]\nenabled = false\n'

/** Files of a site whose pages and handlers read something of a request, or do not. */
function readingFiles(): Record<string, string> {
  const personal: Record<string, string> = {
    cookies: "(await (await import('next/headers')).cookies()).get('a')",
    headers: "(await (await import('next/headers')).headers()).get('user-agent')",
    'no-store': "(await import('next/cache')).unstable_noStore()",
  }
  const files: Record<string, string> = {
    'app/dynamic/page.tsx': backend.page('dynamic', "export const dynamic = 'force-dynamic'"),
    'app/zero/page.tsx': backend.page('zero', 'export const revalidate = 0'),
    'app/forced/page.tsx': backend.page(
      'forced',
      "import { cookies } from 'next/headers'\nexport const dynamic = 'force-static'",
      "(await cookies()).get('a')",
    ),
    'app/handler/route.ts': `export async function GET() { return fetch('http://${backend.host}/handler') }`,
    'app/timed/route.ts': `export const revalidate = 60\nexport async function GET() { return new Response(await (await fetch('http://${backend.host}/timed')).text()) }`,
    'app/cookie/route.ts': `export const revalidate = 60\nexport async function GET() { await fetch('http://${backend.host}/cookie'); return new Response('x', { headers: { 'set-cookie': 'a=b' } }) }`,
  }
  for (const [read, code] of Object.entries(personal)) files[`app/${read}/page.tsx`] = backend.page(read, '', code)
  return files
}

/** A server without L0 for all tests that need no configuration of their own. Each has a site of its own. */
const cleanup = fileCleanup()
let backend: Backend
let server: Server
before(async () => {
  backend = await Backend.start(cleanup)
  const keptApart = {
    'app/query/page.tsx': backend.page('query', '', 'await props.searchParams'),
    'app/plain/page.tsx': backend.page('plain'),
    'app/host/route.ts': `import type { NextRequest } from 'next/server'\nexport const revalidate = 60\nexport async function GET(request: NextRequest) { await fetch('http://${backend.host}/host'); return new Response(request.nextUrl.host) }`,
  }
  const sites = [
    // The first one gets the requests for unknown hosts.
    { id: 'kept-apart', hostnames: ['kept-apart.localhost', 'other.localhost'], files: keptApart },
    { id: 'stale', files: { 'app/page.tsx': backend.page('stale', 'export const revalidate = 1') } },
    { id: 'shared', files: readingFiles() },
    { id: 'once', files: { 'app/page.tsx': backend.page('once') } },
  ]
  server = await startServer(cleanup, { config: configOf(cleanup, backend, sites, noL0) })
})

test('a stale page is served at once and rendered again once', async () => {
  const get = client(server, 'stale.localhost')
  assert.equal(shown((await get('/')).text), 1)
  const release = backend.hold('stale')
  const stale = await waitFor(
    'the page to be stale',
    async () => {
      const answer = await get('/')
      assert.equal(shown(answer.text), 1, 'whoever asks gets the old page')
      return /ttl=-/.test(isr(answer)) && backend.count('stale') === 2
    },
    PROCESS_WAIT_MS,
  )
  assert.ok(stale)
  const many = await Promise.all(Array.from({ length: 40 }, () => get('/')))
  assert.deepEqual(new Set(many.map(({ text }) => shown(text))), new Set([1]))
  assert.equal(backend.count('stale'), 2, 'one revalidation, whoever asks')
  release()
  await waitFor('the new page', async () => shown((await get('/')).text) >= 2, PROCESS_WAIT_MS)
})

test('a page is shared only among requests that agree in everything it reads', async () => {
  const get = client(server, 'shared.localhost')
  for (const name of ['cookies', 'headers', 'no-store', 'dynamic', 'zero', 'handler', 'cookie']) {
    for (let i = 1; i <= 3; i++) {
      const answer = await get(`/${name}`)
      assert.equal(answer.status, 200, `${name}: ${answer.text}`)
      // Of a stream it is known only when its head is out already.
      assert.match(isr(answer), i === 1 ? /^svc-isr; fwd=(bypass; detail=|uri-miss$)/ : /^svc-isr; fwd=bypass; detail=/, name)
      assert.equal(backend.count(name), i, name)
      assert.match(String(answer.headers['cache-control'] ?? 'private'), /private/, name)
    }
  }
  for (const name of ['forced', 'timed']) {
    await get(`/${name}`)
    for (let i = 0; i < 5; i++) assert.match(isr(await get(`/${name}`)), /^svc-isr; hit/, name)
    assert.equal(backend.count(name), 1, name)
  }
})

test('a page that reads its query or its host is kept apart by it', async () => {
  const get = client(server, 'kept-apart.localhost')
  for (let i = 0; i < 10; i++) await get(`/plain?random=${i}`)
  assert.equal(backend.count('plain'), 1)
  // The second request of a worker for one query stores it.
  const kept = await waitFor(
    'the entry of a query',
    async () => {
      const answer = await get('/query?a=1')
      return /hit/.test(isr(answer)) && answer
    },
    PROCESS_WAIT_MS,
  )
  assert.match(kept.text, /<p>\d+<\/p>/)
  assert.notEqual(shown((await get('/query?a=2')).text), shown(kept.text))
  for (const host of ['kept-apart.localhost', 'other.localhost']) {
    assert.equal((await get('/host', { host })).text, host)
    const again = await get('/host', { host })
    assert.equal(again.text, host)
    assert.match(isr(again), /^svc-isr; hit/)
  }
  const foreign = await get('/host', { host: 'evil.example' })
  assert.equal(foreign.text, 'evil.example')
  assert.match(isr(await get('/host', { host: 'evil.example' })), /detail=host/)
})

test('a page is rendered once for all workers, and is still there after a restart', async (t) => {
  const get = client(server, 'once.localhost')
  const first = await get('/')
  assert.equal(first.status, 200, first.text)
  assert.equal(shown(first.text), 1)
  assert.match(String(first.headers['cache-control']), /^public, max-age=0, s-maxage=\d+, stale-while-revalidate=3600$/)
  // Each request has a connection of its own: both workers answer some of them.
  for (let i = 0; i < 20; i++) {
    const again = await get('/')
    assert.equal(shown(again.text), 1)
    assert.match(isr(again), /^svc-isr; hit; ttl=\d+$/)
    assert.equal(again.headers['etag'], first.headers['etag'])
  }
  assert.equal(backend.count('once'), 1)
  const same = await get('/', { headers: { 'if-none-match': String(first.headers['etag']) } })
  assert.equal(same.status, 304)
  const again = client(await restart(t, server), 'once.localhost')
  for (let i = 0; i < 5; i++) assert.equal(shown((await again('/')).text), 1)
  assert.equal(backend.count('once'), 1)
})

test('an expired page is served when rendering it again fails', async (t) => {
  const backend = await Backend.start(t)
  const files = { 'app/page.tsx': backend.page('home', 'export const revalidate = 1') }
  const more = `${noL0}[cache.isr]\ndefault_swr_ms = 0\n`
  const server = await startServer(t, { config: configOf(t, backend, [{ id: 'one', files }], more) })
  const get = client(server)
  assert.equal(shown((await get('/')).text), 1)
  backend.fail('home', true)
  const kept = await waitFor(
    'a failure that the old page stands in for',
    async () => {
      const answer = await get('/')
      assert.equal(answer.status, 200)
      assert.equal(shown(answer.text), 1)
      return isr(answer) === 'svc-isr; fwd=stale; detail=error' && answer
    },
    PROCESS_WAIT_MS,
  )
  assert.ok(kept)
  backend.fail('home', false)
  await waitFor('the page to be back', async () => shown((await get('/')).text) > 1, PROCESS_WAIT_MS)
})

test('middleware runs in front of stored pages, and what it sets is not stored with them', async (t) => {
  const backend = await Backend.start(t)
  const middleware = `import { NextResponse } from 'next/server'
export const config = { matcher: ['/greeted', '/moved', '/calm'] }
export function middleware(request: any) {
  if (request.nextUrl.pathname === '/moved') return NextResponse.rewrite(new URL('/plain', request.url))
  if (request.nextUrl.pathname === '/calm') return NextResponse.next({ headers: { 'x-calm': 'yes' } })
  return NextResponse.next({ headers: { 'x-greeting': request.cookies.get('name')?.value ?? 'nobody' } })
}
`
  const files = {
    'middleware.ts': middleware,
    'app/greeted/page.tsx': backend.page('greeted'),
    'app/plain/page.tsx': backend.page('plain'),
    'app/calm/page.tsx': backend.page('calm'),
  }
  // With L0: an answer that middleware made for one client must not get into it.
  const server = await startServer(t, { config: configOf(t, backend, [{ id: 'one', files }]) })
  const get = client(server)
  for (let i = 0; i < 12; i++) {
    const name = `visitor${i % 3}`
    const answer = await get('/greeted', { headers: { cookie: `name=${name}` } })
    assert.equal(answer.headers['x-greeting'], name)
    assert.equal((await get('/moved')).status, 200)
    assert.equal((await get('/calm')).headers['x-calm'], 'yes')
  }
  assert.deepEqual(
    ['greeted', 'plain', 'calm'].map((name) => backend.count(name)),
    [1, 1, 1],
  )
  assert.equal((await get('/greeted')).headers['x-greeting'], 'nobody')
})

test('an ISR cache of no entries renders every time', async (t) => {
  const backend = await Backend.start(t)
  const config = configOf(
    t,
    backend,
    [{ id: 'one', files: { 'app/page.tsx': backend.page('home') } }],
    '[cache.isr]\nmax_entries = 0\n',
  )
  const get = client(await startServer(t, { config }))
  for (let i = 1; i <= 3; i++) assert.equal(shown((await get('/')).text), i)
})
