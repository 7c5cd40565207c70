// Runs alone: it starts render hosts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { fetching, openData as open } from './data-support/open-data.ts'

const cached = (url: string, tag: string) => fetching(url, `{ next: { revalidate: 3600, tags: ["${tag}"] } }`)
const purging = (body: string) => `import { revalidatePath, revalidateTag } from 'next/cache'
import { after } from 'next/server'
import { redirect } from 'next/navigation'
export const GET = async () => { ${body} }`

test('a purge that fails makes the request fail, even one that ends in a redirect', async (t) => {
  const { instance, host, get } = await open(t, ({ url }) => ({
    'app/x/route.ts': cached(`${url}/x`, 'x'),
    'app/purge/route.ts': purging('revalidateTag("x"); return new Response("done")'),
    'app/redirect/route.ts': purging('revalidateTag("x"); redirect("/x")'),
    'app/throws/route.ts': purging('revalidateTag("x"); throw new Error("its own")'),
  }))
  const first = await get('/x')
  instance.isBroken = true
  for (const path of ['/purge', '/redirect']) {
    await assert.rejects(get(path), /revalidateTag\(\) or revalidatePath\(\) could not be carried out: no worker answers/)
  }
  await assert.rejects(get('/throws'), /its own/)
  assert.equal(await get('/x'), first)
  await waitFor('the log', () => host.log.includes('could not be carried out'), PROCESS_WAIT_MS)
})

test('nothing is purged while a page is rendered, nor by what is cached itself', async (t) => {
  const { instance, get } = await open(t, () => ({
    'app/page.tsx': `import { revalidateTag } from 'next/cache'
export default () => { try { revalidateTag('x') } catch (error) { return <p>{error.code}</p> } }`,
    'app/cached/route.ts': `import { revalidatePath, unstable_cache } from 'next/cache'
const run = unstable_cache(async () => { try { revalidatePath('/') } catch (error) { return error.code } })
export const GET = async () => new Response(await run())`,
  }))
  assert.match(await get('/'), /ROUTER_MISUSE/)
  assert.equal(await get('/cached'), 'ROUTER_MISUSE')
  assert.deepEqual(instance.orders, [])
})

test('a purged tag is purged on all hosts before the response, for its own site only', async (t) => {
  const { instance, options, host, get } = await open(
    t,
    ({ url }) => ({
      'app/x/route.ts': cached(`${url}/x`, 'x'),
      'app/y/route.ts': cached(`${url}/y`, 'y'),
      'app/purge/route.ts': purging('revalidateTag("x"); return new Response("done")'),
    }),
    { ids: ['a', 'b'] },
  )
  const second = await instance.start(options)
  const [x, y, other] = [await get('/x'), await get('/y'), await get('/x', host, 'b')]
  assert.equal(await get('/x', second), x)
  for (let round = 0; round < 5; round++) {
    const before = await get('/x', second)
    await get('/purge')
    assert.notEqual(await get('/x', second), before)
  }
  assert.equal(await get('/y', second), y)
  assert.equal(await get('/x', second, 'b'), other)
  assert.deepEqual(instance.orders[0], { layers: ['isr'], mode: 'drop', scopes: [{ kind: 'tags', tags: ['route:a:x'] }] })
})

test('a fill in flight when a purge arrives is not stored, and no request joins it', async (t) => {
  const { backend, instance, host, get } = await open(t, ({ url }) => ({
    'app/x/route.ts': cached(`${url}/x`, 'x'),
    'app/purge/route.ts': purging('revalidateTag("x"); return new Response("done")'),
  }))
  backend.isHolding = true
  const early = host.render('a', '/x')
  await waitFor('the first fetch', () => backend.held.length === 1, PROCESS_WAIT_MS)
  await get('/purge')
  const late = host.render('a', '/x')
  await waitFor('the second fetch', () => backend.held.length === 2, PROCESS_WAIT_MS)
  backend.release()
  assert.deepEqual([(await early).text, (await late).text], ['answer 1 to /x', 'answer 2 to /x'])
  assert.equal(await get('/x'), 'answer 2 to /x')
  assert.equal(instance.orders.length, 1)
})

test('from the moment that hosts know a purge they do not serve what the store still has', async (t) => {
  const { instance, options, host, get } = await open(t, ({ url }) => ({
    'app/x/route.ts': cached(`${url}/x`, 'x'),
    'app/purge/route.ts': purging('revalidateTag("x"); return new Response("done")'),
  }))
  const first = await get('/x')
  const meanwhile: string[] = []
  instance.beforeStore = async () => {
    meanwhile.push(await get('/x'))
    // A host that starts now has to be told.
    meanwhile.push(await get('/x', await instance.start(options)))
  }
  await get('/purge')
  assert.equal(meanwhile.length, 2)
  assert.ok(!meanwhile.includes(first))
  // Made after the purge had its number: it is kept.
  assert.equal(await get('/x', host), meanwhile[0])
})

test('all purges of a request are one order, each of the own label, and those of after() come behind the answer', async (t) => {
  const { instance, get } = await open(t, () => ({
    'app/purge/route.ts': purging(`
      for (let i = 0; i < 3; i++) revalidateTag('t' + i)
      revalidateTag('t0')
      revalidatePath('/blog/hello/')
      revalidatePath('/a%20b')
      revalidatePath('/(shop)/items/[id]', 'page')
      revalidatePath('/docs', 'layout')
      after(() => { revalidateTag('late'); revalidateTag('later') })
      return new Response('done')`),
    'app/all/route.ts': purging(`revalidatePath('/', 'layout'); return new Response('done')`),
    'app/stream/route.ts': purging(`
      let count = 0
      return new Response(new ReadableStream({ async pull(controller) {
        await new Promise((done) => setTimeout(done, 0))
        controller.enqueue(new Uint8Array(1))
        if (++count === 40) { revalidateTag('streamed'); controller.close() }
      } }))`),
    'app/page/page.tsx': `import { after } from 'next/server'
import { revalidateTag } from 'next/cache'
export default () => { after(() => revalidateTag('of-page')); return <p>x</p> }`,
  }))
  await get('/purge')
  const [order] = instance.orders
  const own = ['t0', 't1', 't2', '/blog/hello', '/blog/hello', '/a b', '/a%20b', '/items/[id]', '/docs']
  assert.deepEqual(order?.scopes, [
    { kind: 'tags', tags: [...new Set(own)].map((name) => `route:a:${name}`) },
    { kind: 'pattern', pattern: 'route:a:/docs/*', labels: ['a'] },
  ])
  await waitFor('the purges after the answer', () => instance.orders.length > 1, PROCESS_WAIT_MS)
  assert.deepEqual(instance.orders[1]?.scopes, [{ kind: 'tags', tags: ['route:a:late', 'route:a:later'] }])
  await get('/all')
  assert.deepEqual(instance.orders[2]?.scopes.at(-1), { kind: 'pattern', pattern: 'route:a:/*', labels: ['a'] })
  await get('/stream')
  await waitFor('the purge of the stream', () => instance.orders.length > 3, PROCESS_WAIT_MS)
  await get('/page')
  await waitFor('the purge behind the page', () => instance.orders.length > 4, PROCESS_WAIT_MS)
  assert.deepEqual(instance.orders[4]?.scopes, [{ kind: 'tags', tags: ['route:a:of-page'] }])
})

test('a request does not get back what it has purged itself', async (t) => {
  const { get } = await open(t, ({ url }) => ({
    'app/route.ts': `import { revalidateTag } from 'next/cache'
const read = async () => (await fetch('${url}/x', { next: { revalidate: 60, tags: ['x'] } })).text()
export const GET = async () => {
  const before = await read()
  revalidateTag('x')
  return Response.json([before, await read()])
}`,
  }))
  const [first, second] = JSON.parse(await get('/'))
  assert.notEqual(first, second)
  assert.equal(JSON.parse(await get('/'))[0], second)
})

test("a purged path is rendered again with new data, regardless of the data's tags; other paths keep theirs", async (t) => {
  const read = (url: string) => `(await fetch('${url}/shared', { next: { revalidate: 3600 } })).text()`
  const { instance, options, host, get } = await open(t, ({ url }) => ({
    'app/one/route.ts': `export const GET = async () => new Response(await ${read(url)})`,
    'app/two/[id]/page.tsx': `export default async () => <p>{await ${read(url)}}</p>`,
    'app/purge/route.ts': purging('revalidatePath("/one"); return new Response("done")'),
    'app/purge-two/route.ts': purging('revalidatePath("/two", "layout"); return new Response("done")'),
  }))
  const first = await get('/one')
  assert.equal(await get('/one'), first)
  await get('/purge')
  const other = await get('/two/[id]')
  assert.ok(other.includes(first))
  const second = await get('/one')
  assert.notEqual(second, first)
  await get('/purge-two')
  const third = await get('/two/[id]')
  assert.ok(!third.includes(second))
  assert.equal(await get('/two/[id]'), third)
  // A host that starts later knows it too.
  await get('/purge')
  const later = await instance.start(options)
  host.child.kill('SIGKILL')
  await host.exited
  assert.ok(!third.includes(await get('/one', later)))
})

test('a site that floods the master with purges is refused, and no other site waits for it', async (t) => {
  const { instance, host, get } = await open(
    t,
    () => ({
      'app/flood/route.ts': purging(`
        after(() => { for (let i = 0; i < 12; i++) setTimeout(() => { for (let n = 0; n < 900; n++) revalidateTag(i + '-' + n) }, i) })
        return new Response('done')`),
      'app/many/route.ts': purging(`for (let n = 0; n < 2000; n++) revalidateTag('t' + n); return new Response('done')`),
      'app/purge/route.ts': purging('revalidateTag("x"); return new Response("done")'),
    }),
    { ids: ['a', 'b'] },
  )
  await assert.rejects(get('/many'), /at most 1000/)
  const { promise: gate, resolve: go } = Promise.withResolvers<void>()
  let isOpen = false
  instance.beforeStore = async () => (isOpen ? undefined : gate)
  await get('/flood')
  await waitFor('the refusal', () => host.log.includes('RENDER_PURGE_REFUSED'), PROCESS_WAIT_MS)
  isOpen = true
  go()
  await get('/purge', host, 'b')
  for (const { scopes } of instance.orders) {
    const count = scopes.reduce((sum, scope) => sum + (scope.kind === 'tags' ? scope.tags.length : 1), 0)
    assert.ok(count <= 256, `${count} targets in one order`)
  }
})

test('a host that misses purges uses and stores no data until it knows them', async (t) => {
  const { host, options, get } = await open(t, ({ url }) => ({ 'app/x/route.ts': cached(`${url}/x`, 'x') }))
  const first = await get('/x')
  assert.equal(await get('/x'), first)
  await host.master.call('suspend', undefined, { timeoutMs: 30_000 })
  const second = await get('/x')
  assert.notEqual(second, first)
  assert.notEqual(await get('/x'), second)
  await host.serve(2, options)
  assert.notEqual(await get('/x'), first, 'a configuration alone changes nothing')
  await host.serve(3, { ...options, purges: { last: 0, unsettled: [] } })
  assert.equal(await get('/x'), first, 'what was in the store is there')
})
