import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { fetching, openData as open } from './data-support/open-data.ts'

/** Stale as soon as it is made. */
const shortly = '{ next: { revalidate: 0.001 } }'

test('a revalidation that fails keeps the stale response and is not tried with every request', async (t) => {
  const { backend, host, get } = await open(t, ({ url }) => ({ 'app/route.ts': fetching(`${url}/x`, shortly) }))
  const first = await get('/')
  backend.answer = (response) => response.destroy()
  await waitFor(
    'the failed fetch',
    async () => {
      assert.equal(await get('/'), first)
      return host.log.includes('failed to refresh')
    },
    PROCESS_WAIT_MS,
  )
  const { count } = backend
  for (let i = 0; i < 10; i++) assert.equal(await get('/'), first)
  assert.ok(backend.count <= count + 1)
})

test('an expired response is better than none: it is served while the back end fails', async (t) => {
  const { backend, get } = await open(t, ({ url }) => ({ 'app/route.ts': fetching(`${url}/x`, shortly) }), { swrMs: 0 })
  const first = await get('/')
  await waitFor('a refreshed one', async () => (await get('/')) !== first, PROCESS_WAIT_MS)
  const last = await get('/')
  backend.answer = (response) => response.writeHead(503).end('away')
  assert.equal(await get('/'), last)
  backend.answer = (response) => response.destroy()
  assert.equal(await get('/'), last)
  backend.isHolding = true
  const waiting = Array.from({ length: 5 }, () => get('/'))
  await waitFor('the fetch', () => backend.held.length > 0, PROCESS_WAIT_MS)
  backend.release()
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set([last]))
  backend.answer = (response) => response.writeHead(404).end('gone')
  await waitFor('the answer', async () => (await get('/')) === 'gone', PROCESS_WAIT_MS)
})

test('a stale response is served while it is revalidated once in the background', async (t) => {
  const { backend, host, get } = await open(t, ({ url }) => ({ 'app/route.ts': fetching(`${url}/x`, shortly) }))
  const first = await get('/')
  backend.isHolding = true
  await waitFor(
    'the revalidation',
    async () => {
      assert.equal(await get('/'), first)
      return backend.held.length > 0
    },
    PROCESS_WAIT_MS,
  )
  const texts = await Promise.all(Array.from({ length: 10 }, () => get('/')))
  await host.ping()
  assert.deepEqual(new Set(texts), new Set([first]))
  assert.equal(backend.count, 2)
  backend.release()
  await waitFor('the new response', async () => (await get('/')) !== first, PROCESS_WAIT_MS)
})

test('data that was marked as stale is revalidated at once', async (t) => {
  const { instance, get } = await open(t, ({ url }) => ({
    'app/route.ts': fetching(`${url}/x`, '{ next: { revalidate: 3600, tags: ["x"] } }'),
  }))
  const first = await get('/')
  await instance.purge({ layers: ['isr'], mode: 'stale', scopes: [{ kind: 'tags', tags: ['route:a:x'] }] })
  assert.notEqual(await get('/'), first)
})

test('tags and time of data are those of the page, also when it comes from the cache', async (t) => {
  const { host } = await open(t, ({ url }) => ({
    'app/one/page.tsx': `export default async () => <p>{await (await fetch('${url}/x', { next: { revalidate: 60, tags: ['one'] } })).text()}</p>`,
    'app/two/page.tsx': `export default async () => <p>{await (await fetch('${url}/x', { next: { revalidate: 30, tags: ['two'] } })).text()}</p>`,
    'app/purge/route.ts': `import { revalidateTag } from 'next/cache'
export const GET = () => { revalidateTag('two'); return new Response('done') }`,
  }))
  const facts = async (path: string) => {
    const { body, text } = await host.render('a', path)
    return { text, tags: body.cache?.tags.toSorted(), revalidate: body.cache?.revalidate }
  }
  const { text, ...first } = await facts('/one')
  assert.deepEqual(first, { tags: ['one'], revalidate: 60 })
  assert.deepEqual(await facts('/one'), { text, tags: ['one'], revalidate: 60 })
  assert.deepEqual(await facts('/two'), { text, tags: ['one', 'two'], revalidate: 30 })
  // The entry has the tag of whoever used it, too.
  await host.render('a', '/purge')
  assert.notEqual((await facts('/one')).text, text)
})
