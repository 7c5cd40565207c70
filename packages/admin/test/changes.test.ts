import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditRecord } from '@svc/protocol'
import { callEndpoint } from './call-endpoint.ts'
import { FakePlane } from './fake-plane.ts'

function planeWith(records: readonly Partial<AuditRecord>[], cursor: number | null = null): FakePlane {
  const plane = new FakePlane()
  const at = new Date().toISOString()
  const record = { at, username: 'root', address: '192.0.2.1', target: '{}', result: 'ok', detail: 'secret', request_id: 'r' }
  const entries = records.map((one) => ({ ...record, action: '', ...one }) as AuditRecord)
  const page: FakePlane['audit']['page'] = async ({ sinceMs = 0 }) => {
    const recent = entries.filter(({ at: time }) => Date.parse(time) >= sinceMs)
    return { entries: recent, cursor: recent.length < entries.length ? null : cursor }
  }
  return Object.assign(plane, { audit: { ...plane.audit, page } })
}

async function changesOf(records: readonly Partial<AuditRecord>[], { window = '1h', cursor = null as number | null } = {}) {
  const { json } = await callEndpoint(`/__svc/obs/changes?window=${window}`, { method: 'GET', plane: planeWith(records, cursor) })
  return json as { changes: { at: string; kind: string; site: string | null; result: string }[]; is_partial: boolean }
}

test('operations of the panel, of programs and of the command line are changes of the same kinds', async () => {
  const actions = [
    ['svc reload', 'reload'],
    ['POST /__svc/admin/api/reload', 'reload'],
    ['POST /api/deploy', 'deploy'],
    ['POST /__svc/admin/api/deploys/rollback', 'rollback'],
    ['POST /__svc/cache/purge-l0', 'purge'],
    ['DELETE /__svc/admin/api/cache/entries/:key', 'purge'],
    ['svc purgeModules', 'purge'],
    ['POST /__svc/api/sites/:id/isolate/flush', 'flush'],
    ['svc flushIsolates', 'flush'],
    ['POST /__svc/admin/api/workers/:n/restart', 'restart'],
    ['svc restartRenderers', 'restart'],
    ['PUT /__svc/admin/api/sites/:id/maintenance', 'maintenance'],
    ['PUT /__svc/admin/api/waf/mode', 'setting'],
    ['PUT /__svc/admin/api/plugins/:name', 'setting'],
  ] as const
  const { changes } = await changesOf(actions.map(([action]) => ({ action })))
  assert.deepEqual(
    changes.map(({ kind }) => kind),
    actions.map(([, kind]) => kind),
  )
})

test('logins, refused attempts, reading and what changes nothing are no changes', async () => {
  const { changes } = await changesOf([
    { action: 'POST /__svc/admin/api/login' },
    { action: 'POST /__svc/admin/api/reload', result: 'denied' },
    { action: 'GET /__svc/admin/api/config', result: 'failed' },
    { action: 'DELETE /__svc/admin/api/sessions/:jti' },
    { action: 'POST /__svc/admin/api/tokens' },
    { action: 'POST /__svc/api/config/validate' },
    { action: 'POST /__svc/admin/api/tasks/:name/run' },
    { action: 'POST /__svc/admin/api/waf/test' },
    { action: 'PUT /__svc/admin/api/deploys/upload' },
  ])
  assert.deepEqual(changes, [])
})

test('a change names its site and result, and neither user, address nor details', async () => {
  const action = 'POST /__svc/api/deploy'
  const { changes } = await changesOf([
    { action, target: '{"site":"shop","source":"/srv/r1"}', result: 'failed' },
    { action, target: '{"id":"blog"}' },
    { action, target: '{"site":"another' },
    { action, target: '{"site":"nope"}' },
    { action, target: 'null' },
  ])
  assert.deepEqual(
    changes.map(({ site, result }) => [site, result]),
    [
      ['shop', 'failed'],
      ['blog', 'ok'],
      [null, 'ok'],
      [null, 'ok'],
      [null, 'ok'],
    ],
  )
  assert.deepEqual(Object.keys(changes[0] ?? {}), ['at', 'kind', 'site', 'result'])
})

test('changes are those of the window; more records than are read make the list partial', async () => {
  const old = new Date(Date.now() - 7_200_000).toISOString()
  const reloads = [{ action: 'svc reload' }, { action: 'svc reload', at: old }]
  assert.equal((await changesOf(reloads)).changes.length, 1)
  assert.equal((await changesOf(reloads, { window: '24h' })).changes.length, 2)
  assert.equal((await changesOf(reloads, { cursor: 7 })).is_partial, false, 'the window ends before the records do')
  assert.equal((await changesOf(reloads, { window: '24h', cursor: 7 })).is_partial, true)
})
