// Runs alone: it starts render hosts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { openData as open } from './data-support/open-data.ts'

const cachedIn = (body: string, call = 'read()') => `import { unstable_cache } from 'next/cache'
import { headers } from 'next/headers'
${body}
export const GET = async () => Response.json([await ${call}])`

test('results that depend on one request, or are not JSON, are rejected; failures are not cached', async (t) => {
  const { get } = await open(t, () => ({
    'app/headers/route.ts': cachedIn(`const read = unstable_cache(async () => (await headers()).get('x'))`),
    'app/json/route.ts': cachedIn(`const read = unstable_cache(async () => ({ big: 1n }))`),
    'app/cycle/route.ts': cachedIn(`const read = unstable_cache(async () => { const a = {}; a.a = a; return a })`),
    'app/fails/route.ts': cachedIn(
      `let runs = 0; const read = unstable_cache(async () => { if (++runs < 3) throw new Error('run ' + runs); return runs })`,
    ),
    'app/none/route.ts': cachedIn(`const read = unstable_cache('text')`),
  }))
  await assert.rejects(get('/headers'), /headers\(\) was used inside unstable_cache\(\)/)
  await assert.rejects(get('/json'), /cannot be written as JSON/)
  await assert.rejects(get('/cycle'), /cannot be written as JSON/)
  await assert.rejects(get('/fails'), /run 1/)
  await assert.rejects(get('/fails'), /run 2/)
  assert.equal(await get('/fails'), '[3]')
  await assert.rejects(get('/none'), /needs a function/)
})

test('results outlive requests, isolates and hosts; arguments, key parts, functions and files have their own', async (t) => {
  const counting = `globalThis.runs ??= 0; const count = async () => ++globalThis.runs`
  const { instance, options, host, get } = await open(t, () => ({
    'app/route.ts': cachedIn(`const read = unstable_cache(async (...args) => ({ args, random: Math.random() }))`, 'read(1, "a")'),
    'app/args/route.ts': cachedIn(
      `const read = unstable_cache(async (...args) => Math.random())
      const all = async () => new Set([await read(1), await read(2), await read(1, undefined), await read('1'), await read(1)]).size`,
      'all()',
    ),
    'app/functions/route.ts': cachedIn(
      `const one = unstable_cache(async () => 'one'), two = unstable_cache(async () => 'two')
      const three = unstable_cache(async (a) => a + 1), four = unstable_cache(async (a) => a + 2)
      const five = unstable_cache(async () => Math.random(), ['five']), six = unstable_cache(async () => Math.random(), ['six'])
      const all = async () => [await one(), await two(), await three(1), await four(1), (await five()) !== (await six())]`,
      'all()',
    ),
    'app/lib.ts': `import { unstable_cache } from 'next/cache'\n${counting}\nexport const read = unstable_cache(count)`,
    'app/own-lib.cjs': `const { unstable_cache } = require('svc/cache')\n${counting}\nexports.read = unstable_cache(count)`,
    'app/files/route.ts': `import { read } from '../lib'
import { read as other } from '../own-lib.cjs'
export const GET = async () => Response.json([await read(), await other(), await read(), await other()])`,
    'app/bomb/route.ts': 'export const GET = () => { const all = []; for (;;) all.push(new Array(1e5).fill(1)) }',
  }))
  const first = await get('/')
  assert.equal(await get('/'), first)
  assert.equal(await get('/args'), '[4]')
  assert.equal(await get('/functions'), '[["one","two",2,3,true]]')
  assert.equal(await get('/files'), '[1,2,1,2]')
  await assert.rejects(get('/bomb'), { code: 'RENDER_MEMORY' })
  assert.equal(await get('/'), first)
  const second = await instance.start(options)
  host.child.kill('SIGKILL')
  await host.exited
  assert.equal(await get('/', second), first)
  assert.equal(await get('/files', second), '[1,2,1,2]')
})

test('a result is what JSON makes of it; undefined stays undefined', async (t) => {
  const { get } = await open(t, () => ({
    'app/route.ts': cachedIn(
      `const date = unstable_cache(async () => new Date(0)), none = unstable_cache(async () => undefined), nil = unstable_cache(async () => null)
      const all = async () => [typeof (await date()), typeof (await none()), await nil()]`,
      'all()',
    ),
  }))
  assert.equal(await get('/'), '[["object","undefined",null]]')
  assert.equal(await get('/'), '[["string","undefined",null]]')
})

test('any number of requests run the function once', async (t) => {
  const { backend, host } = await open(t, ({ url }) => ({
    'app/route.ts': cachedIn(`const read = unstable_cache(async () => (await fetch('${url}/x')).text())`),
  }))
  backend.isHolding = true
  const answers = Array.from({ length: 10 }, () => host.render('a', '/'))
  await waitFor('the run', () => backend.held.length > 0, PROCESS_WAIT_MS)
  backend.release()
  assert.deepEqual([...new Set((await Promise.all(answers)).map(({ text }) => text))], ['["answer 1 to /x"]'])
  assert.equal(backend.count, 1)
})

test('another request takes over the fill of an aborted one', async (t) => {
  const { backend, host } = await open(t, ({ url }) => ({
    'app/route.ts': cachedIn(`const read = unstable_cache(async () => (await fetch('${url}/x')).text())`),
  }))
  backend.isHolding = true
  const call = host.worker.open('render', await host.request('a', '/'), { timeoutMs: 30_000 })
  await waitFor('the first run', () => backend.held.length === 1, PROCESS_WAIT_MS)
  const waiting = host.render('a', '/')
  await host.ping()
  call.abort()
  await waitFor('the second run', () => backend.held.length === 2, PROCESS_WAIT_MS)
  backend.release()
  assert.equal((await waiting).text, '["answer 2 to /x"]')
})

test('fetches of a cached function go out, and their tags and times are those of the result, also from the cache', async (t) => {
  const { backend, host, get } = await open(t, ({ url }) => ({
    'app/page.tsx': `import { unstable_cache } from 'next/cache'
const inner = unstable_cache(async () => (await fetch('${url}/x', { next: { revalidate: 3600, tags: ['inner'] } })).text(), [], { tags: ['own'] })
const outer = unstable_cache(async () => 'outer ' + (await inner()), [], { revalidate: 7200 })
export default async () => <p>{await outer()}</p>`,
    'app/purge/route.ts': `import { revalidateTag } from 'next/cache'
export const GET = () => { revalidateTag('inner'); return new Response('done') }`,
  }))
  for (let round = 0; round < 2; round++) {
    const { body } = await host.render('a', '/')
    assert.deepEqual([body.cache?.tags.toSorted(), body.cache?.revalidate, body.cache?.reads], [['inner', 'own'], 3600, []])
  }
  assert.equal(backend.count, 1)
  await get('/purge')
  assert.match(await get('/'), /outer answer 2/)
})

test('a stale result is used while the function runs again behind the answer; when it fails it stays', async (t) => {
  const { backend, host, get } = await open(t, ({ url }) => ({
    'app/route.ts': cachedIn(
      `const read = unstable_cache(async () => {
        const response = await fetch('${url}/x')
        if (!response.ok) throw new Error('back end: ' + response.status)
        return response.text()
      }, [], { revalidate: 0.001 })`,
    ),
  }))
  const first = await get('/')
  backend.answer = (response) => response.writeHead(500).end()
  await waitFor(
    'the failure',
    async () => {
      assert.equal(await get('/'), first)
      return host.log.includes('back end: 500')
    },
    PROCESS_WAIT_MS,
  )
  // It waits a second and more before it is tried again.
  backend.answer = (response, text) => response.end(text)
  await waitFor('the new result', async () => (await get('/')) !== first, PROCESS_WAIT_MS)
})

test('an expired result is used when the function fails', async (t) => {
  const { get } = await open(
    t,
    () => ({
      'app/route.ts': cachedIn(
        `import { notFound } from 'next/navigation'
        let runs = 0
        const read = unstable_cache(async () => { runs++; if (runs === 2) throw new Error('second'); if (runs === 3) notFound(); return runs }, [], { revalidate: 0.001 })`,
      ),
    }),
    { swrMs: 0 },
  )
  assert.equal(await get('/'), '[1]')
  assert.equal(await get('/'), '[1]')
  await waitFor('notFound()', async () => (await get('/')) === '', PROCESS_WAIT_MS)
  assert.equal(await get('/'), '[4]')
})

test('a site that starts more fills than are tracked still gets its results', async (t) => {
  const { host, get } = await open(
    t,
    () => ({
      'app/route.ts': cachedIn(
        `const read = unstable_cache(async (i) => i)
      const all = async () => { const found = await Promise.all(Array.from({ length: 5_000 }, (_, i) => read(i))); return found.every((n, i) => n === i) }`,
        'all()',
      ),
      'app/stuck/route.ts': cachedIn(
        `const stuck = unstable_cache(async (i) => new Promise(() => {}))
      for (let i = 0; i < 1_500; i++) setTimeout(() => stuck(i))
      const fine = unstable_cache(async () => 'fine')`,
        'fine()',
      ),
    }),
    { render: { timeout_ms: 30_000, memory_limit_mb: 128 } },
  )
  assert.equal(await get('/'), '[true]')
  assert.equal(await get('/stuck'), '["fine"]')
  assert.equal(await get('/'), '[true]')
  assert.deepEqual(host.losses, [])
})
