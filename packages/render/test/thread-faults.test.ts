// Campaign: faults of render threads, one after another.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Config } from '@svc/config'
import { codeOf } from '@svc/core'
import { PROCESS_WAIT_MS, tempSite, waitFor } from '@svc/testkit'
import { readHead, readVerdict } from '../src/host/emitted.ts'
import { HostProcess } from './host-process.ts'

/** The limit where one is to be reached: what must stay below it takes milliseconds, and seconds on a loaded machine. */
const LIMIT_MS = 3_000

/** A site whose page `/` is in order, and whose other pages do what their names say. */
function faultySite(t: TestContext, pages: Record<string, string>, before = ''): string {
  const page = (body: string) => `${before}\nexport default async function Page() { ${body}; return <p>survived</p> }`
  const files = Object.entries(pages).map(([name, body]) => [`app/${name}/page.tsx`, page(body)])
  return tempSite(t, { 'app/page.tsx': 'export default () => <p>fine</p>', ...Object.fromEntries(files) })
}

async function hostWith(t: TestContext, root: string, render: Partial<Config['render']> = {}): Promise<HostProcess> {
  const good = tempSite(t, { 'app/page.tsx': 'export default () => <p>good</p>' })
  const sites = [
    { id: 'bad', root },
    { id: 'good', root: good },
  ]
  return await HostProcess.start(t, { render, sites })
}

async function codeOfRender(host: HostProcess, path = '/fault', site = 'bad'): Promise<string | undefined> {
  try {
    const { status } = await host.render(site, path)
    return String(status)
  } catch (error) {
    return codeOf(error)
  }
}

async function servesBoth(host: HostProcess): Promise<void> {
  assert.match((await host.render('good', '/')).text, /good/)
  assert.match((await host.render('bad', '/')).text, /fine/)
}

test('loops and promises that never settle cost their own request, and the next one gets a working isolate', async (t) => {
  const faults = {
    loop: 'for (;;);',
    microtasks: 'for (;;) await null',
    regex: '/^(a+)+$/.test("a".repeat(40) + "b")',
    never: 'await new Promise(() => undefined)',
  }
  const names = Object.keys(faults)
  const root = faultySite(t, faults)
  // Each fault has a site of its own, so that all of them reach the limit at once.
  const sites = ['neighbour', ...names].map((id) => ({ id, root }))
  const host = await HostProcess.start(t, { render: { timeout_ms: LIMIT_MS }, sites })
  const serve = async (site: string) => assert.match((await host.render(site, '/')).text, /fine/, site)
  for (const { id } of sites) await serve(id)
  const codes = names.map((name) => codeOfRender(host, `/${name}`, name))
  await serve('neighbour')
  assert.deepEqual(
    await Promise.all(codes),
    names.map(() => 'RENDER_TIMEOUT'),
  )
  for (const { id } of sites) await serve(id)
  assert.deepEqual((await host.lossesSoFar()).sort(), ['loop timeout', 'microtasks timeout', 'regex timeout'])
})

test('requests that wait behind an endless loop are served by the next isolate', async (t) => {
  // The others come a good while after the loop has begun: their own time is not over when it is ended.
  const body = `const until = Date.now() + ${LIMIT_MS / 2}; while (Date.now() < until); console.log('still looping'); for (;;);`
  const host = await hostWith(t, faultySite(t, { fault: body }), { timeout_ms: LIMIT_MS })
  await servesBoth(host)
  const looping = codeOfRender(host)
  await host.logged(/still looping/)
  const waiting = await Promise.all(Array.from({ length: 5 }, () => host.render('bad', '/')))
  assert.deepEqual(new Set(waiting.map(({ text }) => /fine/.test(text))), new Set([true]))
  assert.equal(await looping, 'RENDER_TIMEOUT')
  assert.deepEqual(await host.lossesSoFar(), ['bad timeout'])
})

test('a memory bomb ends its isolate, is counted, and the next request is served', async (t) => {
  const bomb = 'const list: unknown[] = []; for (;;) list.push(new Array(100).fill({}))'
  const host = await hostWith(t, faultySite(t, { fault: bomb }), { timeout_ms: 60_000, memory_limit_mb: 32 })
  await host.render('good', '/')
  const [code, neighbour] = await Promise.all([codeOfRender(host), host.render('good', '/')])
  assert.equal(code, 'RENDER_MEMORY')
  assert.match(neighbour.text, /good/)
  await servesBoth(host)
  assert.deepEqual(await host.lossesSoFar(), ['bad memory'])
  const { metrics } = await host.master.call('metrics', undefined, { timeoutMs: 60_000 })
  const kills = (metrics as { name: string; values: { value: number }[] }[]).find(({ name }) => name === 'render_oom_kills_total')
  assert.equal(kills?.values[0]?.value, 1)
})

test('answers that are none fail their requests, and neither the process nor its other sites notice', async (t) => {
  const headers = { number: '5', nothing: 'null', object: '({ a: 1 })', long: "'b'.repeat(300_000)" }
  const pages = Object.entries(headers).map(([name, value]) => [name, `Array.prototype.toJSON = () => ${value}`])
  const root = faultySite(t, Object.fromEntries(pages))
  const host = await HostProcess.start(t, {
    sites: [{ id: 'good', root }, ...Object.keys(headers).map((id) => ({ id, root }))],
  })
  for (const id of Object.keys(headers)) {
    await assert.rejects(host.render(id, `/${id}`), { code: 'RENDER_FAILED' }, id)
    assert.match((await host.render('good', '/')).text, /fine/)
  }
})

test('text that an isolate emits is an answer only if every part of it has its type', () => {
  const emitted = [
    'garbage',
    'null',
    '{}',
    '{"status":200,"headers":5}',
    '{"status":200,"headers":[[1,2],null,"x",["a"]]}',
    '{"status":"200","headers":[]}',
    `{"status":200,"headers":[["a","${'b'.repeat(300_000)}"]]}`,
  ]
  for (const json of emitted) assert.throws(() => readHead(json), { code: 'RENDER_FAILED' }, json.slice(0, 80))
  for (const json of emitted) assert.throws(() => readVerdict(json), { code: 'RENDER_FAILED' }, json.slice(0, 80))
  assert.deepEqual(readHead('{"status":200,"headers":[["a","b"]]}').head, { status: 200, headers: [['a', 'b']] })
})

test('an endless line in the log of a site is truncated', async (t) => {
  const host = await hostWith(t, faultySite(t, { fault: "console.log('a'.repeat(3_000_000))" }))
  await host.render('bad', '/fault')
  await waitFor('the end of the cut text', () => host.log.includes('… (3000000 characters)'), PROCESS_WAIT_MS)
  assert.ok(host.log.length < 200_000, `${host.log.length} characters`)
})

test('an isolate that answers nothing any more is replaced', async (t) => {
  const host = await hostWith(t, faultySite(t, { fault: 'Promise.prototype.then = () => new Promise(() => undefined)' }), {
    timeout_ms: LIMIT_MS,
  })
  await servesBoth(host)
  await codeOfRender(host)
  await Promise.all(Array.from({ length: 3 }, () => codeOfRender(host, '/')))
  await servesBoth(host)
  assert.deepEqual(await host.lossesSoFar(), ['bad timeout'])
})

test('a throw at import fails that request, names the source, and is tried again by the next', async (t) => {
  const root = faultySite(
    t,
    { fault: '' },
    'declare const globalThis: { tries?: number }\nglobalThis.tries = (globalThis.tries ?? 0) + 1\nif (globalThis.tries < 3) throw new TypeError("not yet")',
  )
  const host = await hostWith(t, root)
  for (let i = 0; i < 2; i++) assert.equal(await codeOfRender(host), '500')
  await host.logged(/TypeError: not yet\\n +at [^\n]*app\/fault\/page\.tsx:3:\d+/)
  assert.match((await host.render('bad', '/fault')).text, /survived/)
  await servesBoth(host)
  assert.deepEqual(await host.lossesSoFar(), [])
})

test('an unhandled rejection is logged with its source and harms no request', async (t) => {
  const host = await hostWith(t, faultySite(t, { fault: 'void Promise.reject(new Error("left behind"))' }))
  assert.match((await host.render('bad', '/fault')).text, /survived/)
  await servesBoth(host)
  await host.logged(/left behind.*app\/fault\/page\.tsx:2/)
  assert.deepEqual(await host.lossesSoFar(), [])
})

const ending: [name: string, body: string][] = [
  ['a growing Map', 'const map = new Map(); for (let i = 0; i < 1e8; i++) map.set(i, i)'],
  ['a huge string split', 'void "x,".repeat(2 ** 27).split(",").length'],
  ['a BigInt loop', 'let x = 2n ** 1000000n; for (;;) x = x * x'],
  ['a huge sort', 'const list = Array.from({ length: 5e6 }, Math.random); list.sort()'],
]

for (const [name, body] of ending) {
  test(`${name} is contained or ends the host process, never a hang`, async (t) => {
    const host = await hostWith(t, faultySite(t, { fault: body }), { timeout_ms: LIMIT_MS })
    await host.render('good', '/')
    const outcome = await Promise.race([codeOfRender(host), host.exited])
    if (process.env['VERBOSE'] === '1') console.error(outcome, host.losses)
    const hasEnded = Array.isArray(outcome) || outcome === 'CORE_PEER_GONE' || host.losses.length > 0
    assert.ok(hasEnded || typeof outcome === 'string', String(outcome))
    // Either it goes on serving, or its process ends and is replaced by the supervisor.
    const after = await Promise.race([host.exited.then(() => 'exited'), host.render('bad', '/').then(({ text }) => text)]).catch(
      codeOf,
    )
    assert.match(String(after), /fine|exited|CORE_PEER_GONE/)
  })
}

test('memory that the limit does not count cannot be had', async (t) => {
  const body = 'for (let i = 0; i < 2000; i++) new ArrayBuffer(1, { maxByteLength: 2 << 20 } as object)'
  const host = await hostWith(t, faultySite(t, { fault: body }))
  assert.equal(await codeOfRender(host), '500')
  await servesBoth(host)
})

test('a request whose client disconnects is dropped and frees its place', async (t) => {
  const host = await hostWith(t, faultySite(t, { fault: 'await new Promise(() => undefined)' }), { timeout_ms: 60_000 })
  const request = await host.request('bad', '/fault')
  const call = host.worker.open('render', request, { timeoutMs: 60_000 })
  await host.render('bad', '/')
  call.abort()
  await assert.rejects(call.reply, { code: 'CORE_ABORTED' })
  await host.render('bad', '/')
  const { pools } = await host.ping()
  const { threads, active, queued } = pools.find(({ site }) => site === 'bad') ?? {}
  assert.deepEqual({ threads, active, queued }, { threads: 1, active: 0, queued: 0 })
})
