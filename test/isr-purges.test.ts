import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { IsrStore, responseKey, responseTags } from '@svc/cache'
import { fetchHttp, type Server, startServer, waitFor } from '@svc/testkit'
import { Backend, client, configOf, isr, shown } from './backend.ts'

interface PurgeAnswer {
  readonly ok: boolean
  readonly purged: number
}

/** Purges through the endpoint, as a content management system would. */
async function purge(server: Server, query: string): Promise<PurgeAnswer> {
  const answer = await fetchHttp(`${server.url}/__svc/admin/api/cache/purge?${query}`, { method: 'POST' })
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

test('a purge by tag, path or pattern takes what carries it on its site, and nothing else', async (t) => {
  const backend = await Backend.start(t)
  const files = (prefix: string) => ({
    'app/items/[id]/page.tsx': itemPage(backend, 'items')
      .replace("'/' + id", `'/${prefix}' + id`)
      .replace("/' + id", `/${prefix}' + id`),
    'app/about/page.tsx': backend.page(`${prefix}about`),
  })
  const sites = [
    { id: 'one', files: files('one-') },
    { id: 'two', files: files('two-') },
  ]
  const server = await startServer(t, { config: configOf(t, backend, sites) })
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
  const steps: [query: string, after: number[]][] = [
    ['tag=route:one:/items/a', [2, 1, 1, 1, 1, 1]],
    ['tag=route:one:items', [3, 2, 1, 1, 1, 1]],
    [`tag=${encodeURIComponent('route:two:/items/[id]')}`, [3, 2, 1, 2, 2, 1]],
    ['tag=/about', [3, 2, 2, 2, 2, 2]],
    [`pattern=${encodeURIComponent('route:one:*')}`, [4, 3, 3, 2, 2, 2]],
    [`pattern=${encodeURIComponent('*')}`, [5, 4, 4, 3, 3, 3]],
  ]
  for (const [query, after] of steps) {
    const { purged } = await purge(server, query)
    assert.ok(purged >= 1, query)
    assert.deepEqual(await state(), after, query)
    assert.deepEqual(await state(), after, `${query}: kept`)
  }
})

test('a stale page is brought up to date as the decision guide says: L0 by path, ISR by tag', async (t) => {
  const backend = await Backend.start(t)
  const config = configOf(t, backend, [{ id: 'one', files: { 'app/page.tsx': backend.page('home') } }])
  const server = await startServer(t, { config })
  const get = client(server)
  await waitFor('an answer from L0', async () => /^svc-l0; hit$/.test(String((await get('/')).headers['cache-status'])))
  // L0 alone: the page comes from ISR, as it was.
  await purgeL0(server, ['/'], 'one.localhost')
  const after = await get('/')
  assert.match(isr(after), /hit/)
  assert.equal(shown(after.text), 1)
  // ISR by tag: what L0 had made of it is gone too.
  await waitFor('an answer from L0', async () => /^svc-l0; hit$/.test(String((await get('/')).headers['cache-status'])))
  await purge(server, 'tag=/')
  for (let i = 0; i < 10; i++) assert.equal(shown((await get('/')).text), 2)
})

test('a render that was under way when its page was purged is not kept', async (t) => {
  const backend = await Backend.start(t)
  const config = configOf(t, backend, [{ id: 'one', files: { 'app/page.tsx': backend.page('home') } }])
  const server = await startServer(t, { config })
  const get = client(server)
  const release = backend.hold('home')
  const before = get('/')
  await waitFor('the render', () => backend.count('home') === 1)
  await purge(server, 'tag=route:one:/')
  release()
  assert.equal(shown((await before).text), 1)
  for (let i = 0; i < 10; i++) assert.ok(shown((await get('/')).text) >= 2)
})

test('under load and purges no worker ever serves a byte older than the last acknowledged purge', async (t) => {
  const backend = await Backend.start(t)
  const config = configOf(t, backend, [{ id: 'one', files: { 'app/page.tsx': backend.page('home') } }])
  const server = await startServer(t, { config })
  const get = client(server)
  await get('/')
  let least = 0
  let isOver = false
  const failures: string[] = []
  let reads = 0
  const read = async () => {
    while (!isOver) {
      // What is asked for now was not there before the purges that are known now.
      const atLeast = least
      const answer = await get('/').catch((error: unknown) => ({ status: 0, text: String(error) }))
      reads++
      if (answer.status !== 200) failures.push(`status ${answer.status} ${answer.text}`)
      else if (!(shown(answer.text) >= atLeast)) failures.push(`${shown(answer.text)} after ${atLeast}`)
    }
  }
  const readers = Array.from({ length: 8 }, read)
  for (let round = 0; round < 60; round++) {
    const rendered = backend.count('home')
    await purge(server, round % 2 === 0 ? 'tag=route:one:/' : `pattern=${encodeURIComponent('route:one:*')}`)
    // All that was rendered before the purge was ordered is older than it.
    least = Math.max(least, rendered + 1)
    const seen = reads
    await waitFor('reads that began after the purge', () => reads > seen + 10)
  }
  isOver = true
  await Promise.all(readers)
  assert.deepEqual(failures.slice(0, 5), [])
  assert.ok(backend.count('home') > 60, 'each purge was followed by a render')
})

test('a purge of thousands of pages is answered with their number, and none of them is served after that', async (t) => {
  const backend = await Backend.start(t)
  const page =
    'export const revalidate = 600\nexport default async function Page({ params }: any) { return <p>new {(await params).id}</p> }\n'
  const sites = [{ id: 'one', files: { 'app/posts/[id]/page.tsx': page } }]
  const server = await startServer(t, { config: configOf(t, backend, sites) })
  const get = client(server)
  await get('/posts/0')
  const cacheDir = join(dirname(server.configFile ?? ''), 'cache')
  const store = await IsrStore.join({ cacheDir, maxEntries: 20_000, maxBytes: 1 << 28, graceMs: 0 })
  t.after(() => store.close())
  const keyOf = (id: number) => responseKey('one', `/posts/${id}`, { query: false, host: false }, '', '')
  const rendered = store.get(keyOf(0)) ?? assert.fail('the page is not kept')
  const pages = 4_000
  const body = Buffer.from('<p>old</p>')
  const puts = Array.from({ length: pages }, (_, id) => {
    const tags = responseTags('one', `/posts/${id}`, '/posts/[id]', ['posts'])
    return store.put(keyOf(id), { ...rendered, path: `/posts/${id}`, tags }, body)
  })
  assert.ok((await Promise.all(puts)).every(Boolean))
  assert.equal((await get('/posts/7')).text, '<p>old</p>')
  assert.deepEqual((await purge(server, 'tag=route:one:posts')).purged, pages)
  const ids = Array.from({ length: 60 }, (_, index) => Math.floor((index * pages) / 60))
  const answers = await Promise.all(ids.map((id) => get(`/posts/${id}`)))
  assert.deepEqual(
    answers.filter(({ status, text }) => status !== 200 || text.includes('old')).map(({ status, text }) => `${status} ${text}`),
    [],
  )
  await waitFor('the store follows', () => {
    store.refresh()
    return ids.every((id) => store.get(keyOf(id))?.seq !== rendered.seq)
  })
  assert.equal((await purge(server, 'tag=route:one:posts')).purged, 0)
})

test('random queries neither push a hot page out nor fill the store', async (t) => {
  const backend = await Backend.start(t)
  const files = {
    'app/page.tsx': backend.page('home'),
    'app/search/page.tsx': backend.page('search', '', 'await props.searchParams'),
  }
  const server = await startServer(t, {
    config: configOf(t, backend, [{ id: 'one', files }], '[cache.isr]\nmax_entries = 20\n\n[cache.l0]\nmax_bytes = 65536\n'),
  })
  const get = client(server)
  await get('/')
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 20 }, (_, i) => get(`/search?q=${round}-${i}`)))
    assert.equal((await get('/')).status, 200)
  }
  assert.equal(backend.count('home'), 1)
  const { text } = await fetchHttp(`${server.url}/__svc/metrics`)
  const entries = Number(/^cache_entries\{layer="l1"\} (\d+)$/m.exec(text)?.[1])
  assert.ok(entries >= 1 && entries <= 20, `${entries} entries`)
  const l0Bytes = Number(/^svc_l0_bytes (\d+)$/m.exec(text)?.[1])
  assert.ok(l0Bytes <= 2 * 65536, `${l0Bytes} bytes of L0`)
})
