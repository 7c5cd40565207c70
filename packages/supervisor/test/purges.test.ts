// Runs alone: it starts and kills processes.
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { PurgeOrder } from '@svc/cache'
import type { IsolateList, IsolateModules } from '@svc/protocol'
import { fetchHttp, PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { withMood } from './fixtures/moods.ts'
import { Instance, type Running, type WorkerFacts } from './harness.ts'

const everything: PurgeOrder = { layers: ['isr'], scopes: [{ kind: 'everything' }], mode: 'drop' }
const PATIENCE = { timeoutMs: 120_000 }
/** For who is to be found mute; who is well answers within milliseconds, and within seconds on a loaded machine. */
const MUTE = { purgeTimeoutMs: 3_000 }

async function purge(server: Running, order = everything) {
  return (await server.control()).call('purge', { order }, PATIENCE)
}

/** Report of a fixture host about itself. */
async function hostFacts(socketPath: string): Promise<{ readonly log: string[]; readonly known: { readonly last: number } }> {
  const socket = connect({ path: socketPath })
  return JSON.parse((await socket.toArray()).join(''))
}

/** A client whose connection stays with one worker. */
class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #url: string
  pid = 0

  constructor(t: TestContext, server: Running) {
    this.#url = server.url
    t.after(() => this.#agent.destroy())
  }

  async json<T>(path: string): Promise<T> {
    return JSON.parse((await fetchHttp(this.#url + path, { agent: this.#agent })).text) as T
  }
}

/** One client for each of two workers. */
async function clientsOfTwo(t: TestContext, server: Running): Promise<[Client, Client]> {
  const clients = new Map<number, Client>()
  await waitFor(
    'a connection to each worker',
    async () => {
      const client = new Client(t, server)
      client.pid = (await client.json<WorkerFacts>('/')).pid
      clients.set(client.pid, client)
      return clients.size === 2
    },
    PROCESS_WAIT_MS,
  )
  const [first, second] = [...clients.values()]
  assert.ok(first !== undefined && second !== undefined)
  return [first, second]
}

test('a purge reaches hosts and workers, is settled, and its number is known to those that start later', async (t) => {
  const instance = new Instance(t)
  const server = await instance.start()
  const { purgesKnown, hosts } = await server.worker()
  const outcome = await purge(server)
  assert.ok(outcome.number > purgesKnown.last)
  assert.deepEqual([outcome.l0, outcome.isr, outcome.workersAcked, outcome.workersTotal], [2, 0, 1, 1])
  const told = [`purge ${outcome.number}`, `settled ${outcome.number}`]
  await waitFor('the worker to know the end', async () => (await server.worker()).purgeLog.length === 2, PROCESS_WAIT_MS)
  assert.deepEqual((await server.worker()).purgeLog, told)
  const hostLog = async () => (await hostFacts(hosts[0]?.socket ?? '')).log
  await waitFor('the host to know the end', async () => (await hostLog()).length === 2, PROCESS_WAIT_MS)
  assert.deepEqual(await hostLog(), told)

  const { pid } = await server.worker()
  process.kill(pid, 'SIGKILL')
  const fresh = await waitFor('a new worker', () => server.worker().catch(() => undefined), PROCESS_WAIT_MS)
  assert.notEqual(fresh.pid, pid)
  assert.deepEqual(fresh.purgesKnown, { last: outcome.number, unsettled: [] })
  await server.child.stop()
  const again = await instance.start()
  assert.ok((await purge(again)).number > outcome.number, 'numbers grow over restarts')
})

test('an invalid order is rejected without asking any process', async (t) => {
  const server = await new Instance(t).start()
  const order: PurgeOrder = { ...everything, scopes: [{ kind: 'paths', paths: ['nowhere'], hosts: null }] }
  await assert.rejects(purge(server, order), { code: 'SUP_BAD_PURGE' })
  assert.deepEqual((await server.worker()).purgeLog, [])
})

test('a worker that does not note a purge is killed and replaced, and the purge is answered', async (t) => {
  const server = await new Instance(t, { workers: 2 }).start({ timings: MUTE })
  const [, mute] = await clientsOfTwo(t, server)
  await mute.json('/mute')
  const outcome = await purge(server)
  assert.equal(outcome.workersTotal, 2)
  assert.ok(outcome.workersAcked < 2)
  const { workers } = await server.status()
  assert.ok(!workers.some(({ pid }) => pid === mute.pid), 'it has ended by the time of the answer')
  await server.statusWhen('two workers', (status) => status.workers.every(({ state }) => state === 'ready'))
})

test('a stopped worker and one that is killed meanwhile do not keep a purge from being answered', async (t) => {
  const server = await new Instance(t, { workers: 2 }).start({ timings: MUTE })
  const [stopped, killed] = await clientsOfTwo(t, server)
  process.kill(stopped.pid, 'SIGSTOP')
  const pending = purge(server)
  process.kill(killed.pid, 'SIGKILL')
  const outcome = await pending
  assert.ok(outcome.workersAcked < outcome.workersTotal)
  const { workers } = await server.status()
  assert.ok(!workers.some(({ pid }) => pid === stopped.pid))
  await server.statusWhen('two workers', (status) => status.workers.every(({ state }) => state === 'ready'))
  assert.equal((await purge(server)).workersTotal, 2)
})

test('a render host that refuses a purge is replaced', async (t) => {
  const server = await new Instance(t, { more: withMood('refuse-purge') }).start()
  const before = (await server.worker()).hosts[0]?.id
  assert.equal((await purge(server)).workersAcked, 1)
  await waitFor(
    'another host',
    async () => {
      const id = (await server.worker()).hosts[0]?.id
      return id !== undefined && id !== before
    },
    PROCESS_WAIT_MS,
  )
})

test('the lease of a killed worker goes to the worker that waits, and what that ends wakes the next', async (t) => {
  const server = await new Instance(t, { workers: 2 }).start()
  const [holder, waiter] = await clientsOfTwo(t, server)
  interface Lease {
    readonly granted: boolean
    readonly id: number
    readonly outcome?: string
  }
  assert.equal((await holder.json<Lease>('/lease?key=k')).granted, true)
  const waiting = waiter.json<Lease>('/lease?key=k')
  process.kill(holder.pid, 'SIGKILL')
  const granted = await waiting
  assert.equal(granted.granted, true)
  await server.statusWhen('two workers', (status) => status.workers.every(({ state }) => state === 'ready'))
  const [one, other] = await clientsOfTwo(t, server)
  const [own, foreign] = one.pid === waiter.pid ? [one, other] : [other, one]
  const late = foreign.json<Lease>('/lease?key=k')
  // The end may come before or after the request: both are answered.
  await own.json(`/lease-ended?id=${granted.id}`)
  const answer = await late
  assert.ok(answer.granted || answer.outcome === 'stored')
})

test('a rolling restart gives every render host a successor, and no two restarts run at once', async (t) => {
  const server = await new Instance(t).start()
  await server.statusWhen('a spare', ({ hosts }) => hosts.some(({ state }) => state === 'spare'))
  const before = (await server.status()).hosts.map(({ pid }) => pid)
  const serving = (await server.status()).hosts.find(({ state }) => state === 'ready')?.pid
  const control = await server.control()
  const begun = await control.call('restartRenderers', undefined, PATIENCE)
  assert.deepEqual([begun.state, begun.total], ['running', 2])
  const joined = await control.call('restartRenderers', undefined, PATIENCE)
  assert.equal(joined.id, begun.id)
  const { status } = await control.call('restartStatus', { id: begun.id, wait: true }, PATIENCE)
  assert.deepEqual([status?.state, status?.replaced, status?.total], ['done', 2, 2])
  const after = await server.statusWhen('two hosts', ({ hosts }) => hosts.length === 2 && hosts.every(({ pid }) => pid > 0))
  assert.deepEqual(
    after.hosts.filter(({ pid }) => before.includes(pid)),
    [],
  )
  const successor = (await server.worker()).hosts[0]?.socket ?? ''
  assert.deepEqual((await hostFacts(successor)).log, [`warm shop: route of ${serving}`])
  assert.doesNotMatch(server.child.stderr, /render host died/)
  assert.equal((await control.call('restartStatus', { id: 'unknown', wait: true }, PATIENCE)).status, undefined)
})

test('the modules of a site, and the isolates, are listed by host', async (t) => {
  const server = await new Instance(t).start()
  await server.statusWhen('a spare', ({ hosts }) => hosts.some(({ state }) => state === 'spare'))
  const { isolates } = JSON.parse(await server.fetch('/modules?site=shop')) as { readonly isolates: readonly IsolateModules[] }
  assert.equal(new Set(isolates.map(({ host, pid }) => `${host} ${pid}`)).size, 2)
  for (const { modules } of isolates) assert.equal(modules[0]?.file, '/srv/shop/app/page.tsx')
  const listed: IsolateList = JSON.parse(await server.fetch('/isolates'))
  assert.equal(new Set(listed.isolates.map(({ host }) => host)).size, 2)
  const started_at = '1970-01-01T00:00:00.000Z'
  const facts = {
    site: 'shop',
    label: 'shop',
    thread: 3,
    state: 'idle',
    started_at,
    last_build_ms: 12,
    heap_bytes: 1_000,
    requests: 5,
  }
  for (const { host: _, ...isolate } of listed.isolates) assert.deepEqual(isolate, facts)
  assert.deepEqual(listed.missing, [])
})

test('flushes and module purges are summed over the hosts, and an unknown site is refused', async (t) => {
  const server = await new Instance(t).start()
  await server.statusWhen('a spare', ({ hosts }) => hosts.some(({ state }) => state === 'spare'))
  const control = await server.control()
  assert.deepEqual(await control.call('flushIsolates', { site: 'shop' }, PATIENCE), { isolates: 4 })
  await assert.rejects(control.call('flushIsolates', { site: 'gone' }, PATIENCE), { code: 'SUP_UNKNOWN_SITE' })
  assert.deepEqual(await control.call('purgeModules', {}, PATIENCE), { evicted: 6 })
  const reset = await control.call('resetApp', { root: `${server.instance.dir}/site/app` }, PATIENCE)
  assert.deepEqual(reset, { sites: ['shop'], roots: [], evicted: 6, l0: 2, isr: 0 })
  assert.deepEqual((await server.worker()).sitesChanged, ['shop'])
  const unknown = await control.call('resetApp', { root: '/nowhere' }, PATIENCE)
  assert.deepEqual([unknown.sites, unknown.roots], [[], [`${server.instance.dir}/site`]])
})
