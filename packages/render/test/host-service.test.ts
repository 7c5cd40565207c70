// Runs alone: it starts render hosts.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { PROCESS_WAIT_MS, tempSite, waitFor, writeFiles } from '@svc/testkit'
import { HostProcess } from './host-process.ts'

const page = (text: string) => `export default () => <p>${text}</p>`
const TIMEOUT = { timeoutMs: 60_000 }
/** Answers when the whole body of its request has come. */
const echo = 'export const POST = async (request: Request) => new Response(await request.text())'

test('a worker without the right token is refused, for any first request', async (t) => {
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root: tempSite(t, { 'app/page.tsx': page('a') }) }] })
  await assert.rejects(host.connect('wrong'), { code: 'RENDER_UNAUTHORIZED' })
  const unnamed = await host.connect('')
  await assert.rejects(unnamed.call('describe', { site: 'a' }, TIMEOUT), { code: 'RENDER_UNAUTHORIZED' })
  await unnamed.closed
  assert.match((await host.render('a', '/')).text, /a/)
})

test('unknown sites, routes and versions of a manifest are distinct refusals', async (t) => {
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root: tempSite(t, { 'app/page.tsx': page('a') }) }] })
  await host.describe('a')
  await assert.rejects(host.render('b', '/'), { code: 'RENDER_UNKNOWN_SITE' })
  await assert.rejects(host.render('a', '/', { manifestVersion: 'old' }), { code: 'RENDER_STALE_MANIFEST', retryable: true })
  await assert.rejects(host.render('a', '/', { kind: 'page', route: 'page:/gone' }), { code: 'RENDER_UNKNOWN_ROUTE' })
})

test('a page that does not compile is an error of its own requests, with the place', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': page('a'), 'app/bad/page.tsx': 'export default () => <p>' })
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root, mode: 'production' }] })
  await assert.rejects(host.render('a', '/bad'), (error: Error & { data?: { line?: number } }) => {
    assert.match(error.message, /app\/bad\/page\.tsx:1:\d+/)
    return true
  })
  assert.match((await host.render('a', '/')).text, /a/)
})

test('in development an error is a page with its source, in production it is not shown', async (t) => {
  const root = tempSite(t, {
    'app/page.tsx': 'type A = 1\nexport default () => {\n  throw new Error("<oops>")\n}',
    'app/bad/page.tsx': '\nexport default () => <p>',
  })
  const sites = (['development', 'production'] as const).map((mode) => ({ id: mode, root, mode }))
  const host = await HostProcess.start(t, { sites })
  const thrown = await host.render('development', '/')
  assert.equal(thrown.status, 500)
  assert.match(thrown.text, /&lt;oops&gt;/)
  assert.match(thrown.text, /app\/page\.tsx:3/)
  const broken = await host.render('development', '/bad')
  assert.equal(broken.status, 500)
  assert.match(broken.text, /app\/bad\/page\.tsx:2/)
  const outcome = await host.render('production', '/').then(
    ({ status, text }) => `${status} ${text}`,
    (error: Error) => error.message,
  )
  assert.doesNotMatch(outcome, /page\.tsx/)
})

test('edits of modules, new routes and removed ones show with the next request', async (t) => {
  const root = tempSite(t, {
    'app/page.tsx': 'import { text } from "./text"\nexport default () => <p>{text}</p>',
    'app/text.ts': 'export const text = "one"',
  })
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root }] })
  assert.match((await host.render('a', '/')).text, /one/)
  writeFiles(root, { 'app/text.ts': 'export const text = "two"' })
  await host.changed('a', [join(root, 'app/text.ts')])
  assert.match((await host.render('a', '/')).text, /two/)
  const before = (await host.describe('a')).version
  writeFiles(root, { 'app/new/page.tsx': page('new') })
  await host.changed('a', [join(root, 'app/new/page.tsx')])
  assert.notEqual((await host.describe('a')).version, before)
  assert.match((await host.render('a', '/new')).text, /new/)
  rmSync(join(root, 'app/new'), { recursive: true })
  await host.changed('a')
  await assert.rejects(host.render('a', '/', { kind: 'page', route: 'page:/new' }), { code: 'RENDER_UNKNOWN_ROUTE' })
})

test('a half-written file keeps the last good version in production, also in a fresh host', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': page('good') })
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root }] })
  await host.render('a', '/')
  writeFiles(root, { 'app/page.tsx': 'export default () => <p>' })
  await host.changed('a', [join(root, 'app/page.tsx')])
  assert.match((await host.render('a', '/')).text, /good/)
  await host.serve(2, { render: { timeout_ms: 40_000 }, sites: [{ id: 'a', root }] })
  assert.match((await host.render('a', '/')).text, /good/)
  await host.logged(/last good version/)
})

test('a new generation keeps the isolates of unchanged sites and lets changed ones end after their last render', async (t) => {
  const counting = "let count = 0\nexport default () => <p>{process.env.NAME + ' ' + ++count}</p>"
  const root = tempSite(t, {
    'app/page.tsx': counting,
    'app/slow/route.ts': echo,
  })
  const sites = (name: string) => ['a', 'b'].map((id) => ({ id, root, env: { NAME: id === 'b' ? name : 'same' } }))
  const host = await HostProcess.start(t, { sites: sites('first') })
  assert.match((await host.render('a', '/')).text, /same 1/)
  assert.match((await host.render('b', '/')).text, /first 1/)
  const end = await host.hold('b', '/slow')
  await host.serve(2, { sites: sites('second') })
  assert.match((await host.render('a', '/')).text, /same 2/)
  assert.match((await host.render('b', '/')).text, /second 1/)
  assert.equal(await end('slow'), 'slow')
  await assert.rejects(host.master.call('commit', { generation: 9 }, TIMEOUT))
})

test('a streamed answer comes in pieces, no faster than it is taken', async (t) => {
  const route = `export function GET() {
  let count = 0
  return new Response(new ReadableStream({ async pull(controller) {
    await new Promise((done) => setTimeout(done, 1))
    controller.enqueue(new Uint8Array(65536))
    globalThis.pulled = ++count
    if (count === 64) controller.close()
  } }))
}`
  const pulled = 'export const GET = () => new Response(String(globalThis.pulled))'
  const root = tempSite(t, { 'app/big/route.ts': route, 'app/pulled/route.ts': pulled })
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root }] })
  const request = await host.request('a', '/big', { mayStream: true })
  let byteCount = 0
  let isOpen = false
  const call = host.worker.open('render', request, {
    timeoutMs: 30_000,
    onChunk: (_body, bytes) => {
      byteCount += bytes?.byteLength ?? 0
      return isOpen
    },
  })
  await waitFor('a full window', () => byteCount >= 256 * 1024, PROCESS_WAIT_MS)
  // Round trips through the same isolate: it has every chance to run ahead.
  let count = 0
  for (let i = 0; i < 20; i++) count = Number((await host.render('a', '/pulled')).text)
  assert.ok(count < 40, `${count} pieces were made for a reader that takes none`)
  isOpen = true
  call.resume()
  const { body } = await call.reply
  assert.equal(byteCount, 64 * 65_536)
  assert.equal(body.head, undefined)
})

test('request bodies reach the site, small ones with the request and large ones in pieces', async (t) => {
  const route = 'export const POST = async (request: Request) => new Response(String((await request.arrayBuffer()).byteLength))'
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root: tempSite(t, { 'app/route.ts': route }) }] })
  assert.equal((await host.render('a', '/', { method: 'POST' }, new Uint8Array(1000))).text, '1000')
  const call = host.worker.open('render', await host.request('a', '/', { method: 'POST' }), {
    timeoutMs: 30_000,
    hasChunks: true,
  })
  for (let i = 0; i < 40; i++) if (!call.write(new Uint8Array(50_000))) await call.drained()
  call.end()
  assert.equal(Buffer.from((await call.reply).bytes ?? []).toString(), '2000000')
})

test('the matcher of middleware is in the manifest, and its errors do not keep the site down', async (t) => {
  const middleware = (text: string) => `export const config = { matcher: ['${text}'] }\nexport default () => undefined`
  const root = tempSite(t, { 'app/page.tsx': page('a'), 'middleware.ts': middleware('/one') })
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root }] })
  const first = await host.describe('a')
  assert.deepEqual(first.middleware?.matcher, ['/one'])
  writeFiles(root, { 'middleware.ts': middleware('/two') })
  await host.changed('a', [join(root, 'middleware.ts')])
  const second = await host.describe('a')
  assert.deepEqual(second.middleware?.matcher, ['/two'])
  assert.notEqual(second.version, first.version)
  assert.match((await host.render('a', '/')).text, /a/)
  writeFiles(root, { 'middleware.ts': 'throw new Error("broken")' })
  await host.changed('a', [join(root, 'middleware.ts')])
  assert.match((await host.render('a', '/')).text, /a/)
  await host.logged(/broken/)
})

test('the code cache is reused, and a damaged one is ignored', async (t) => {
  const long = `export const words = ${JSON.stringify(Array.from({ length: 500 }, (_, i) => `word ${i}`))}\nexport const count = () => words.length`
  const root = tempSite(t, {
    'app/page.tsx': 'import { count } from "./long"\nexport default () => <p>{count()}</p>',
    'app/long.ts': long,
  })
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root }] })
  assert.match((await host.render('a', '/')).text, /500/)
  const dir = join(host.cacheDir, 'bytecode')
  const files = readdirSync(dir).map((name) => join(dir, name))
  assert.ok(files.length > 0)
  const times = () => files.map((file) => statSync(file).mtimeMs)
  const first = times()
  await host.serve(2, { render: { timeout_ms: 40_001 }, sites: [{ id: 'a', root }] })
  assert.match((await host.render('a', '/')).text, /500/)
  assert.deepEqual(times(), first)
  for (const file of files) truncateSync(file, 100)
  await host.serve(3, { render: { timeout_ms: 40_002 }, sites: [{ id: 'a', root }] })
  assert.match((await host.render('a', '/')).text, /500/)
  assert.ok(files.every((file) => statSync(file).size > 100))
})

test('fetch of a site reaches local servers only where it is allowed', async (t) => {
  const server = createServer((request, response) => response.end(`got ${request.headers['cdn-loop']}`)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const source = `export default async function Page() {
  try { return <p>{await (await fetch('http://${host}/')).text()}</p> } catch (error) { return <p>{String(error)}</p> }
}`
  const root = tempSite(t, { 'app/page.tsx': source })
  const sites = [
    { id: 'closed', root },
    { id: 'open', root, fetch_allow: [host] },
  ]
  const process = await HostProcess.start(t, { sites })
  assert.match((await process.render('closed', '/')).text, /TypeError: fetch failed: .*not a public address/)
  const headers: [string, string][] = [['cdn-loop', 'svc;other']]
  assert.match((await process.render('open', '/', { headers })).text, /got svc;other, svc;test;t=loop-token</)
})

test('a draining host begins no more renders and answers when the last has ended', async (t) => {
  const host = await HostProcess.start(t, {
    sites: [{ id: 'a', root: tempSite(t, { 'app/page.tsx': page('a'), 'app/slow/route.ts': echo }) }],
  })
  await host.render('a', '/')
  const end = await host.hold('a', '/slow')
  let isDrained = false
  const drained = host.master.call('drain', { timeoutMs: 60_000 }, TIMEOUT).then(() => {
    isDrained = true
  })
  // Its answer comes after the drain was taken in, which comes by another way than renders do.
  await host.ping()
  await assert.rejects(host.render('a', '/'), { code: 'CORE_PEER_LEAVING' })
  await host.ping()
  assert.equal(isDrained, false)
  assert.equal(await end('the last'), 'the last')
  await drained
})

test('a host that ends sends its last answers to a worker that is slow to take them', async (t) => {
  const large = 'export const GET = () => new Response("x".repeat(4_000_000))'
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root: tempSite(t, { 'app/large/route.ts': large }) }] })
  await host.describe('a')
  host.socketOfWorker.pause()
  const answer = host.render('a', '/large')
  const hasEnded = async () =>
    (await host.ping()).pools.some(({ active, queued, threads }) => threads > 0 && active + queued === 0)
  await waitFor('the end of the render', hasEnded, PROCESS_WAIT_MS)
  await host.master.call('drain', { timeoutMs: 60_000 }, TIMEOUT)
  host.master.close()
  host.socketOfWorker.resume()
  assert.equal((await answer).text.length, 4_000_000)
  assert.deepEqual(await host.exited, [0, null])
})

test('a host ends with its master, and not by the signals of a terminal', async (t) => {
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root: tempSite(t, { 'app/page.tsx': page('a') }) }] })
  await host.render('a', '/')
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) host.child.kill(signal)
  assert.match((await host.render('a', '/')).text, /a/)
  host.master.close()
  assert.deepEqual(await host.exited, [0, null])
})
