import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { EntryStore, responseKey, responseTags } from '@svc/cache'
import { fetchHttp, PROCESS_WAIT_MS, type Server, startServer, waitFor } from '@svc/testkit'
import { bearer } from '../packages/auth/test/admin-users.ts'
import { Backend, client, configOf, isr, shown } from './backend.ts'
import { fileCleanup } from './file-cleanup.ts'

interface PurgeAnswer {
  readonly ok: boolean
  readonly purged: number
}

/** Purges through the endpoint, as a content management system would. */
async function purge(server: Server, query: string): Promise<PurgeAnswer> {
  const answer = await fetchHttp(`${server.url}/__svc/admin/api/cache/purge?${query}`, {
    method: 'POST',
    headers: await bearer('root'),
  })
  assert.equal(answer.status, 200, answer.text)
  return JSON.parse(answer.text) as PurgeAnswer
}

async function purgeL0(server: Server, paths: readonly string[], host: string): Promise<PurgeAnswer> {
  const headers = { 'content-type': 'application/json' }
  const options = { method: 'POST', headers, host, body: JSON.stringify({ paths }) }
  const answer = await fetchHttp(`${server.url}/__svc/cache/purge-l0`, options)
  assert.equal(answer.status, 200, answer.text)
  return JSON.parse(answer.text) as PurgeAnswer
}

const itemPage = (backend: Backend, tag: string) => `export const revalidate = 600
export default async function Page({ params }: any) {
  const { id } = await params
  const response = await fetch('http://${backend.host}/' + id, { next: { tags: ['${tag}'], revalidate: 600 } })
  return <p>{await response.text()}</p>
}
`

const postPage =
  'export const revalidate = 600\nexport default async function Page({ params }: any) { return <p>new {(await params).id}</p> }\n'

/** One server for all that needs no configuration of its own. Each test has sites of its own, since a purge may take all of a site. */
const cleanup = fileCleanup()
let backend: Backend
let server: Server
before(async () => {
  backend = await Backend.start(cleanup)
  const files = (prefix: string) => ({
    'app/items/[id]/page.tsx': itemPage(backend, 'items')
      .replace("'/' + id", `'/${prefix}' + id`)
      .replace("/' + id", `/${prefix}' + id`),
    'app/about/page.tsx': backend.page(`${prefix}about`),
  })
  const sites = [
    { id: 'one', files: files('one-') },
    { id: 'two', files: files('two-') },
    ...['stale', 'held', 'loaded'].map((id) => ({ id, files: { 'app/page.tsx': backend.page(id) } })),
    { id: 'posts', files: { 'app/posts/[id]/page.tsx': postPage } },
  ]
  server = await startServer(cleanup, { config: configOf(cleanup, backend, sites) })
})

test('a purge by tag, path or pattern takes what carries it on its site, and nothing else', async () => {
  const [one, two] = [client(server, 'one.localhost'), client(server, 'two.localhost')]
  const state = async () => {
    const seen: number[] = []
    for (const get of [one, two]) {
      for (const path of ['/items/a', '/items/b', '/about']) seen.push(shown((await get(path)).text))
    }
    return seen
  }
  assert.deepEqual(await state(), [1, 1, 1, 1, 1, 1])
  assert.deepEqual(await state(), [1, 1, 1, 1, 1, 1])
  const steps: [query: string, seen: number[]][] = [
    ['tag=route:one:/items/a', [2, 1, 1, 1, 1, 1]],
    ['tag=route:one:items', [3, 2, 1, 1, 1, 1]],
    [`tag=${encodeURIComponent('route:two:/items/[id]')}`, [3, 2, 1, 2, 2, 1]],
    ['tag=/about', [3, 2, 2, 2, 2, 2]],
    [`pattern=${encodeURIComponent('route:one:*')}`, [4, 3, 3, 2, 2, 2]],
    [`pattern=${encodeURIComponent('*')}`, [5, 4, 4, 3, 3, 3]],
  ]
  for (const [query, expected] of steps) {
    const { purged } = await purge(server, query)
    assert.ok(purged >= 1, query)
    assert.deepEqual(await state(), expected, query)
    assert.deepEqual(await state(), expected, `${query}: kept`)
  }
})

test('a stale page is brought up to date as the decision guide says: L0 by path, ISR by tag', async () => {
  const get = client(server, 'stale.localhost')
  await waitFor(
    'an answer from L0',
    async () => /^svc-l0; hit$/.test(String((await get('/')).headers['cache-status'])),
    PROCESS_WAIT_MS,
  )
  // L0 alone: the page comes from ISR, as it was.
  await purgeL0(server, ['/'], 'stale.localhost')
  const answer = await get('/')
  assert.match(isr(answer), /hit/)
  assert.equal(shown(answer.text), 1)
  // ISR by tag: what L0 had made of it is gone too.
  await waitFor(
    'an answer from L0',
    async () => /^svc-l0; hit$/.test(String((await get('/')).headers['cache-status'])),
    PROCESS_WAIT_MS,
  )
  await purge(server, 'tag=/')
  for (let i = 0; i < 10; i++) assert.equal(shown((await get('/')).text), 2)
})

test('a render in flight when its page is purged is not stored', async () => {
  const get = client(server, 'held.localhost')
  const release = backend.hold('held')
  const before = get('/')
  await waitFor('the render', () => backend.count('held') === 1, PROCESS_WAIT_MS)
  await purge(server, 'tag=route:held:/')
  release()
  assert.equal(shown((await before).text), 1)
  for (let i = 0; i < 10; i++) assert.ok(shown((await get('/')).text) >= 2)
})

test('under load and purges no worker ever serves a byte older than the last acknowledged purge', async () => {
  const get = client(server, 'loaded.localhost')
  await get('/')
  let least = 0
  let isOver = false
  const failures: string[] = []
  let reads = 0
  const read = async () => {
    while (!isOver) {
      // A fetch from now on is later than all purges known so far.
      const atLeast = least
      const answer = await get('/').catch((error: unknown) => ({ status: 0, text: String(error) }))
      reads++
      if (answer.status !== 200) failures.push(`status ${answer.status} ${answer.text}`)
      else if (!(shown(answer.text) >= atLeast)) failures.push(`${shown(answer.text)} after ${atLeast}`)
    }
  }
  const readers = Array.from({ length: 8 }, read)
  for (let round = 0; round < 60; round++) {
    const rendered = backend.count('loaded')
    await purge(server, round % 2 === 0 ? 'tag=route:loaded:/' : `pattern=${encodeURIComponent('route:loaded:*')}`)
    // All that was rendered before the purge was ordered is older than it.
    least = Math.max(least, rendered + 1)
    const seen = reads
    await waitFor('reads that began after the purge', () => reads > seen + 10, PROCESS_WAIT_MS)
  }
  isOver = true
  await Promise.all(readers)
  assert.deepEqual(failures.slice(0, 5), [])
  assert.ok(backend.count('loaded') > 60, 'each purge was followed by a render')
})

test('a purge of thousands of pages is answered with their number, and none of them is served after that', async (t) => {
  const get = client(server, 'posts.localhost')
  await get('/posts/0')
  const cacheDir = join(dirname(server.configFile ?? ''), 'cache')
  const store = await EntryStore.join({ cacheDir, maxEntries: 20_000, maxBytes: 1 << 28, graceMs: 0 })
  t.after(() => store.close())
  const keyOf = (id: number) => responseKey('posts', `/posts/${id}`, { query: false, host: false }, '', '')
  const rendered = store.get(keyOf(0)) ?? assert.fail('the page is not kept')
  const pages = 4_000
  const body = Buffer.from('<p>old</p>')
  const puts = Array.from({ length: pages }, (_, id) => {
    const tags = responseTags('posts', `/posts/${id}`, '/posts/[id]', ['posts'])
    return store.put(keyOf(id), { ...rendered, path: `/posts/${id}`, tags }, body)
  })
  assert.ok((await Promise.all(puts)).every(Boolean))
  assert.equal((await get('/posts/7')).text, '<p>old</p>')
  assert.deepEqual((await purge(server, 'tag=route:posts:posts')).purged, pages)
  const ids = Array.from({ length: 60 }, (_, index) => Math.floor((index * pages) / 60))
  const answers = await Promise.all(ids.map((id) => get(`/posts/${id}`)))
  assert.deepEqual(
    answers.filter(({ status, text }) => status !== 200 || text.includes('old')).map(({ status, text }) => `${status} ${text}`),
    [],
  )
  await waitFor(
    'the store follows',
    () => {
      store.refresh()
      return ids.every((id) => store.get(keyOf(id))?.seq !== rendered.seq)
    },
    PROCESS_WAIT_MS,
  )
  assert.equal((await purge(server, 'tag=route:posts:posts')).purged, 0)
})

test('random queries neither push a hot page out nor fill the store', async (t) => {
  const files = {
    'app/page.tsx': backend.page('home'),
    'app/search/page.tsx': backend.page('search', '', 'await props.searchParams'),
  }
  const own = await startServer(t, {
    config: configOf(t, backend, [{ id: 'small', files }], '[cache.isr]\nmax_entries = 20\n\n[cache.l0]\nmax_bytes = 65536\n'),
  })
  const get = client(own, 'small.localhost')
  await get('/')
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 20 }, (_, i) => get(`/search?q=${round}-${i}`)))
    assert.equal((await get('/')).status, 200)
  }
  assert.equal(backend.count('home'), 1)
  const { text } = await fetchHttp(`${own.url}/__svc/metrics`)
  const entries = Number(/^cache_entries\{layer="l1"\} (\d+)$/m.exec(text)?.[1])
  assert.ok(entries >= 1 && entries <= 20, `${entries} entries`)
  const l0Bytes = Number(/^svc_l0_bytes (\d+)$/m.exec(text)?.[1])
  assert.ok(l0Bytes <= 2 * 65536, `${l0Bytes} bytes of L0`)
})
