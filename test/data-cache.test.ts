import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { PROCESS_WAIT_MS, type Server, startServer, waitFor } from '@svc/testkit'
import { Backend, client, configOf, restart, shown } from './backend.ts'
import { fileCleanup } from './file-cleanup.ts'

/** A site whose page, handler and cached function show what a backend says to names of their own. */
function dataSite(backend: Backend, prefix: string): Record<string, string> {
  const ask = (name: string, init = '') => `(await fetch('http://${backend.host}/${prefix}-${name}'${init})).text()`
  const kept = `, { next: { revalidate: 3600, tags: ['posts'] } }`
  const number = (text: string) => `new Response('<p>' + (await ${text}) + '</p>')`
  return {
    'app/page/page.tsx': `export const revalidate = 3600\nexport default async () => <p>{await ${ask('page', kept)}}</p>`,
    'app/handler/route.ts': `export const GET = async () => ${number(ask('handler', kept))}`,
    'app/function/route.ts': `import { unstable_cache } from 'next/cache'
const read = unstable_cache(async () => ${ask('function')}, [], { tags: ['posts'] })
export const GET = async () => ${number('read()')}`,
    'app/untagged/page.tsx': `export const revalidate = 3600\nexport default async () => <p>{await ${ask('untagged', ', { next: { revalidate: 3600 } }')}}</p>`,
    'app/private/route.ts': `export const GET = async (request: Request) => ${number(
      ask('private', `, { cache: 'force-cache', headers: { authorization: request.headers.get('authorization') ?? '' } }`),
    )}`,
    'app/write/route.ts': `import { revalidatePath, revalidateTag } from 'next/cache'
export const POST = async (request: Request) => {
  const { tags = [], paths = [] } = await request.json()
  for (const tag of tags) revalidateTag(tag)
  for (const path of paths) revalidatePath(path)
  return new Response('written')
}`,
  }
}

const routes = ['/page', '/handler', '/function', '/untagged']

/** One server for all that leave it as it is. Each test has sites of its own, so that their numbers begin with 1. */
const cleanup = fileCleanup()
let backend: Backend
let server: Server
before(async () => {
  backend = await Backend.start(cleanup)
  server = await startServer(cleanup, { config: configOf(cleanup, backend, sitesOf(['faults', 'one', 'two', 'held']), hosts) })
})

const HOSTS = 2
const hosts = `[render]\nhosts = ${HOSTS}\n`
const sitesOf = (ids: readonly string[]) => ids.map((id) => ({ id, files: dataSite(backend, id) }))
const siteOf = (id: string, of = server) => client(of, `${id}.localhost`)

async function write(get: ReturnType<typeof client>, order: object): Promise<void> {
  const answer = await get('/write', { method: 'POST', body: JSON.stringify(order) })
  assert.equal(answer.status, 200, answer.text)
}

const all = async (get: ReturnType<typeof client>) => Promise.all(routes.map(async (path) => shown((await get(path)).text)))

test('a failed write reports an error, and a visitor never gets the data of another', async () => {
  const one = siteOf('faults')
  const bad = await one('/write', { method: 'POST', body: JSON.stringify({ tags: ['/not-a-tag'] }) })
  assert.equal(bad.status, 500)
  const ask = (who: string) => one('/private', { headers: { authorization: who } })
  const seen = [await ask('a'), await ask('a'), await ask('b')].map(({ text }) => shown(text))
  assert.deepEqual(seen, [1, 2, 3])
  assert.equal(backend.count('faults-private'), 3)
})

test('no worker and no host serves what a handler has purged, and other sites keep theirs', async () => {
  const [one, two] = [siteOf('one'), siteOf('two')]
  const names = ['page', 'handler', 'function', 'untagged']
  const counts = () => names.map((name) => backend.count(`one-${name}`))
  assert.deepEqual(await all(one), [1, 1, 1, 1])
  assert.deepEqual(await all(two), [1, 1, 1, 1])
  for (let round = 1; round <= 10; round++) {
    const before = counts()
    await write(one, { tags: ['posts'] })
    const seen = await Promise.all(Array.from({ length: 6 }, () => all(one)))
    const [page = 0, handler = 0, cached = 0, untagged = 0] = before
    for (const numbers of seen) {
      assert.equal(numbers[0], page + 1, 'one render serves all workers')
      assert.ok((numbers[1] ?? 0) > handler && (numbers[2] ?? 0) > cached, `${numbers} after ${before}`)
      assert.equal(numbers[3], untagged)
    }
    // Each host fills its misses by itself.
    const fills = counts().map((count, index) => count - (before[index] ?? 0))
    assert.ok(Math.max(...fills) <= HOSTS, `${fills} fills`)
  }
  const purged = counts()
  await write(one, { paths: ['/untagged'] })
  const after = await all(one)
  assert.deepEqual([after[0], after[3]], [purged[0], (purged[3] ?? 0) + 1])
  assert.deepEqual(await all(two), [1, 1, 1, 1])
  assert.equal(backend.count('two-page'), 1)
})

test('a fill in flight when a purge arrives is not stored', async () => {
  const one = siteOf('held')
  for (const path of routes.slice(0, 3)) {
    const name = `held-${path.slice(1)}`
    const release = backend.hold(name)
    const early = one(path)
    await waitFor(`${path} to ask`, () => backend.count(name) === 1, PROCESS_WAIT_MS)
    await write(one, { tags: ['posts'] })
    const late = one(path)
    release()
    assert.deepEqual([shown((await early).text), shown((await late).text)], [1, 2], path)
    assert.equal(shown((await one(path)).text), 2, path)
  }
})

test('data outlives the server', async (t) => {
  const first = await startServer(t, { config: configOf(t, backend, sitesOf(['lasting']), hosts) })
  assert.deepEqual(await all(siteOf('lasting', first)), [1, 1, 1, 1])
  const get = siteOf('lasting', await restart(t, first))
  assert.deepEqual(await all(get), [1, 1, 1, 1])
  assert.equal(backend.count('lasting-function'), 1)
  await write(get, { tags: ['posts'] })
  assert.deepEqual(await all(get), [2, 2, 2, 1])
})
