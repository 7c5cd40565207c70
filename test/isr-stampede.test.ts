import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type HttpAnswer, PROCESS_WAIT_MS, type Server, startServer, waitFor } from '@svc/testkit'
import { Backend, client, configOf, isr, shown } from './backend.ts'
import { statusOf } from './control.ts'
import { fileCleanup } from './file-cleanup.ts'

const CLIENTS = 1000
/** As many connect at once: more would not fit into the queues of the listening sockets, and try again after seconds. */
const BATCH = 200
const noL0 = '[cache.l0]\nenabled = false\n'

/** One server, whose tests have a site of their own each; the last one kills a worker. */
const cleanup = fileCleanup()
let backend: Backend
let server: Server
before(async () => {
  backend = await Backend.start(cleanup)
  const siteOf = (id: string, before = '') => ({ id, files: { 'app/page.tsx': backend.page(id, before) } })
  const sites = [siteOf('cold'), siteOf('stale', 'export const revalidate = 1'), siteOf('killed')]
  server = await startServer(cleanup, { config: configOf(cleanup, backend, sites, `${noL0}[render]\ntimeout_ms = 120000\n`) })
})

/** The sum of a counter over all workers. */
async function counter(name: string): Promise<number> {
  const { text } = await client(server)('/__svc/metrics')
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
  return Number(line?.split(' ')[1] ?? Number.NaN)
}

/** Begins many requests for a page, and resolves when all of them have reached the server, which has not answered any. */
async function stampede(site: string): Promise<Promise<HttpAnswer>[]> {
  const get = client(server, `${site}.localhost`)
  const before = await counter('cache_misses_total{layer="l1"}')
  const answers: Promise<HttpAnswer>[] = []
  while (answers.length < CLIENTS) {
    for (let i = 0; i < BATCH; i++) {
      const answer = get('/', { timeoutMs: 120_000 })
      // A failed one must not end the test before it is looked at.
      answer.catch(() => undefined)
      answers.push(answer)
    }
    const arrived = before + answers.length
    await waitFor(
      'all requests to wait',
      async () => (await counter('cache_misses_total{layer="l1"}')) >= arrived,
      PROCESS_WAIT_MS,
    )
  }
  return answers
}

test('a thousand requests for a cold page over two workers cause one render', async () => {
  const coalesced = await counter('cache_stampede_coalesced_total')
  const release = backend.hold('cold')
  const answers = await stampede('cold')
  release()
  for (const answer of await Promise.all(answers)) assert.equal(`${answer.status} ${shown(answer.text)}`, '200 1')
  assert.equal(backend.count('cold'), 1)
  assert.equal(await counter('cache_stampede_coalesced_total'), coalesced + CLIENTS - 1)
})

test('a thousand requests for a stale page are all served at once, and cause one revalidation', async () => {
  const get = client(server, 'stale.localhost')
  const revalidations = () => counter('isr_revalidations_total{status="success"}')
  const before = await revalidations()
  await get('/')
  const release = backend.hold('stale')
  await waitFor('the page to be stale', async () => /ttl=-/.test(isr(await get('/'))), PROCESS_WAIT_MS)
  const answers = await Promise.all(Array.from({ length: CLIENTS }, () => get('/', { timeoutMs: 60_000 })))
  for (const answer of answers) assert.equal(`${answer.status} ${shown(answer.text)}`, '200 1')
  assert.equal(backend.count('stale'), 2)
  release()
  await waitFor('the revalidation', async () => (await revalidations()) === before + 1, PROCESS_WAIT_MS)
})

test('when the rendering worker is killed, one more render serves the waiters of other workers', async () => {
  const release = backend.hold('killed')
  const answers = await stampede('killed')
  // Which of the two holds the lease is not to be seen from outside: one of them is killed, and the law must hold either way.
  const { workers } = await statusOf(server)
  const [victim] = workers
  assert.ok(victim)
  let cutOff = 0
  for (const answer of answers) answer.catch(() => cutOff++)
  process.kill(victim.pid, 'SIGKILL')
  await waitFor('the clients of the killed worker to notice', () => cutOff > 0, PROCESS_WAIT_MS)
  release()
  const results = await Promise.allSettled(answers)
  const served = results.filter((result) => result.status === 'fulfilled')
  assert.ok(served.length > 0, 'the other worker had clients')
  for (const { value } of served) assert.equal(value.status, 200)
  const cut = results.filter((result) => result.status === 'rejected')
  for (const { reason } of cut) assert.match(String(reason), /socket hang up|ECONNRESET/)
  assert.ok(backend.count('killed') <= 2, `${backend.count('killed')} renders`)
  assert.ok((await client(server, 'killed.localhost')('/')).status === 200)
})
