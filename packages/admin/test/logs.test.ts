import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogFilter } from '@svc/protocol'
import { allEndpoints, EndpointTable, listEndpoints, parseQuery, planeOfTenant } from '../src/index.ts'
import { callEndpoint } from './call-endpoint.ts'
import { FakePlane } from './fake-plane.ts'

const LOGS = '/__svc/obs/logs'

function errorsOf(query: string): string[] {
  const match = new EndpointTable(listEndpoints(allEndpoints)).match('GET', LOGS)
  assert.ok(match?.kind === 'endpoint')
  const parsed = parseQuery(query, match.endpoint.query())
  return parsed.isOk ? [] : parsed.errors.map(({ path }) => path)
}

test('wrong parameters of the logs are named', () => {
  assert.deepEqual(errorsOf('level=loud&limit=0&since=yesterday&q=&x=1'), ['level', 'q', 'since', 'limit', 'x'])
  for (const since of ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.5%2B02:00', '1767225600', '1767225600.25'])
    assert.deepEqual(errorsOf(`since=${since}`), [], since)
  for (const since of ['2026-01-01', '2026-99-01T00:00:00Z', '-1', '1e9']) assert.deepEqual(errorsOf(`since=${since}`), ['since'])
})

test('a number of a query has decimal digits only', () => {
  for (const limit of ['1', '007', '1000']) assert.deepEqual(errorsOf(`limit=${limit}`), [], limit)
  for (const limit of ['0x10', '1e2', '%205', '%2B5', '5.0', '-5', '0b1', '', '9'.repeat(400), '1001'])
    assert.deepEqual(errorsOf(`limit=${limit}`), ['limit'], limit)
})

test('the logs are read with a minimum level and an inclusive time', async () => {
  const query = 'level=warn&site=shop&q=x&since=2026-01-01T00:00:00Z&limit=5&cursor=9.5_3'
  const { json, plane } = await callEndpoint(`${LOGS}?${query}`, {
    method: 'GET',
  })
  assert.deepEqual(plane.calls, [
    {
      logs: { level: 40, sites: ['shop'], text: 'x' },
      sinceMs: Date.parse('2026-01-01T00:00:00Z'),
      limit: 5,
      maxBytes: 64 * 1024,
      before: { at: 9.5, number: 3 },
    },
  ])
  assert.deepEqual(json, { ok: true, lines: [{ level: 'info', msg: 'hello' }, { msg: 'no json' }], dropped: 3, cursor: '7_2' })
  const unknown = await callEndpoint(`${LOGS}?site=nope`, { method: 'GET' })
  assert.deepEqual([unknown.status, unknown.problem?.code], [404, 'unknown_site'])
  for (const wrong of ['7', '_7', '7_', 'x_7', '7_x', '1e9e9_7']) {
    assert.equal((await callEndpoint(`${LOGS}?cursor=${wrong}`, { method: 'GET' })).problem?.code, 'bad_cursor', wrong)
  }
})

test('a tenant_admin reads lines of its own sites, and none of the service', async () => {
  const plane = new FakePlane()
  const own = planeOfTenant(plane, 'acme')
  const asked: LogFilter[] = []
  plane.logs.page = async (filter) => {
    asked.push(filter)
    return { lines: [], dropped: 0, next: null }
  }
  const range = { sinceMs: 0, limit: 1, maxBytes: 1 }
  await own.logs.page({ level: 0, text: '' }, range)
  await own.logs.page({ level: 0, text: '', sites: ['shop', 'blog'] }, range)
  await own.logs.page({ level: 0, text: '', sites: ['blog'] }, range)
  assert.deepEqual(
    asked.map(({ sites }) => sites),
    [['shop'], ['shop'], []],
  )
  own.logs.follow({ level: 0, text: '' }, { next: assert.fail, dropped: () => assert.fail(), ended: assert.fail })
  assert.deepEqual(plane.calls, [{ follow: { level: 0, text: '', sites: ['shop'] } }])
})
