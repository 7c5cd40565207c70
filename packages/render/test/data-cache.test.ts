// Runs alone: it starts render hosts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MetricJson } from '@svc/telemetry'
import { PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { fetching, openData as open } from './data-support/open-data.ts'

test('data that may belong to one visitor is not stored unless the code sets a lifetime', async (t) => {
  const { backend, get } = await open(t, ({ url }) => ({
    'app/plain/route.ts': fetching(`${url}/plain`, '{}'),
    'app/auth/route.ts': fetching(`${url}/auth`, '{ cache: "force-cache", headers: { authorization: "x" } }'),
    'app/cookie/route.ts': fetching(`${url}/cookie`, '{ cache: "force-cache", headers: { Cookie: "a=b" } }'),
    'app/own/route.ts': fetching(`${url}/own`, '{ next: { revalidate: 60 }, headers: { authorization: "x" } }'),
    'app/put/route.ts': fetching(`${url}/put`, '{ method: "PUT", next: { revalidate: 60 } }'),
    'app/off/route.ts': fetching(`${url}/off`, '{ cache: "no-store" }'),
    'app/manual/route.ts': fetching(`${url}/manual`, '{ redirect: "manual", next: { revalidate: 60 } }'),
  }))
  for (const path of ['/plain', '/auth', '/cookie', '/put', '/off', '/manual']) {
    const first = await get(path)
    assert.notEqual(await get(path), first, path)
  }
  const own = await get('/own')
  assert.equal(await get('/own'), own)
  assert.equal(backend.count, 13)
})

test('errors, parts, too much, and cookies of others are not stored', async (t) => {
  const { backend, get } = await open(t, ({ url }) => ({
    'app/kept/route.ts': fetching(`${url}/kept`, '{ next: { revalidate: 60 } }'),
    'app/forced/route.ts': fetching(`${url}/forced`, '{ cache: "force-cache" }'),
    'app/fields/route.ts': `export const GET = async () => {
      const response = await fetch('${url}/fields', { next: { revalidate: 60 } })
      return Response.json([response.status, response.url, response.headers.get('x-own'), response.headers.getSetCookie(), await response.text()])
    }`,
  }))
  const statuses = [500, 404, 301, 206]
  for (const status of statuses) {
    backend.answer = (response, text) => response.writeHead(status).end(text)
    assert.notEqual(await get('/kept'), await get('/kept'), String(status))
  }
  backend.answer = (response, text) => response.end(text.padEnd(3 * 1024 * 1024))
  assert.notEqual(await get('/kept'), await get('/kept'))
  backend.answer = (response, text) => response.setHeader('set-cookie', 'id=1').setHeader('x-own', 'y').end(text)
  assert.notEqual(await get('/forced'), await get('/forced'))
  const [, , own, cookies, text] = JSON.parse(await get('/fields'))
  assert.deepEqual([own, cookies], ['y', ['id=1']])
  assert.deepEqual(JSON.parse(await get('/fields')), [200, `${backend.url}/fields`, 'y', [], text])
})

test('data outlives requests, isolates and hosts, and belongs to one site', async (t) => {
  const { backend, instance, options, host, get } = await open(
    t,
    ({ url }) => ({
      'app/route.ts': fetching(`${url}/x`, '{ next: { revalidate: 60, tags: ["x"] } }'),
      'app/body/route.ts': fetching(`${url}/body`, '{ method: "POST", body: "one", next: { revalidate: 60 } }'),
      'app/other-body/route.ts': fetching(`${url}/body`, '{ method: "POST", body: "two", next: { revalidate: 60 } }'),
      'app/field/route.ts': fetching(`${url}/x`, '{ headers: { accept: "a/b" }, next: { revalidate: 60 } }'),
      'app/traced/route.ts': fetching(
        `${url}/x`,
        '{ headers: { traceparent: String(Math.random()) }, next: { revalidate: 60 } }',
      ),
      'app/bomb/route.ts': 'export const GET = () => { const all = []; for (;;) all.push(new Array(1e5).fill(1)) }',
    }),
    { ids: ['a', 'b'] },
  )
  const first = await get('/')
  assert.equal(await get('/'), first)
  assert.equal(await get('/traced'), first)
  assert.notEqual(await get('/field'), first)
  const body = await get('/body')
  assert.notEqual(await get('/other-body'), body)
  assert.equal(await get('/body'), body)
  await assert.rejects(get('/bomb'), { code: 'RENDER_MEMORY' })
  assert.equal(await get('/'), first)
  const second = await instance.start(options)
  assert.equal(await get('/', second), first)
  assert.notEqual(await get('/', host, 'b'), first)
  host.child.kill('SIGKILL')
  await host.exited
  assert.equal(await get('/', await instance.start(options)), first)
  assert.equal(backend.count, 5)
})

test('any number of requests for missing data cause one fetch', async (t) => {
  const { backend, host } = await open(t, ({ url }) => ({ 'app/route.ts': fetching(`${url}/x`, '{ next: { revalidate: 60 } }') }))
  backend.isHolding = true
  const answers = Array.from({ length: 20 }, () => host.render('a', '/'))
  await waitFor('the fetch', () => backend.held.length > 0, PROCESS_WAIT_MS)
  backend.release()
  const texts = new Set((await Promise.all(answers)).map(({ text }) => text))
  assert.deepEqual([...texts], ['answer 1 to /x'])
  assert.equal(backend.count, 1)
})

test('those that wait for a fetch that fails or cannot be stored make their own', async (t) => {
  const { backend, host } = await open(t, ({ url }) => ({ 'app/route.ts': fetching(`${url}/x`, '{ next: { revalidate: 60 } }') }))
  backend.isHolding = true
  backend.answer = (response, text) => response.writeHead(404).end(text)
  const answers = Array.from({ length: 5 }, () => host.render('a', '/'))
  await waitFor('the fetch', () => backend.held.length > 0, PROCESS_WAIT_MS)
  backend.release()
  assert.equal(new Set((await Promise.all(answers)).map(({ text }) => text)).size, 5)
})

test('an aborted request leaves its fetch to the requests that wait', async (t) => {
  const { backend, host } = await open(t, ({ url }) => ({ 'app/route.ts': fetching(`${url}/x`, '{ next: { revalidate: 60 } }') }))
  backend.isHolding = true
  const call = host.worker.open('render', await host.request('a', '/'), { timeoutMs: 30_000 })
  await waitFor('the fetch', () => backend.held.length === 1, PROCESS_WAIT_MS)
  const waiting = host.render('a', '/')
  await host.ping()
  call.abort()
  await waitFor('the second fetch', () => backend.held.length === 2, PROCESS_WAIT_MS)
  backend.release()
  assert.equal((await waiting).text, 'answer 2 to /x')
  assert.equal((await host.render('a', '/')).text, 'answer 2 to /x')
})

test('look-ups of data are counted as a layer of their own', async (t) => {
  const { host, get } = await open(t, ({ url }) => ({
    'app/route.ts': fetching(`${url}/x`, '{ next: { revalidate: 60 } }'),
    'app/off/route.ts': fetching(`${url}/x`, '{ cache: "no-store" }'),
  }))
  for (const path of ['/', '/', '/', '/off']) await get(path)
  const metrics = (await host.master.call('metrics', undefined, { timeoutMs: 60_000 })).metrics as MetricJson[]
  const valuesOf = (name: string) => metrics.find((metric) => metric.name === name)?.values
  assert.deepEqual(valuesOf('svc_data_hits_total'), [{ value: 2, labels: {} }])
  assert.deepEqual(valuesOf('svc_data_misses_total'), [{ value: 1, labels: {} }])
})
