import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { appendFileSync, readdirSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { AuditQuery, AuditRecord } from '@svc/protocol'
import { createLogger } from '@svc/telemetry'
import { tempDir } from '@svc/testkit'
import { AuditLog } from '../src/audit/audit-log.ts'

const silent = createLogger({ level: 'silent', format: 'json' })

function recordOf(target: string, result: AuditRecord['result'] = 'ok'): AuditRecord {
  return {
    at: '2026-01-01T00:00:00.000Z',
    username: 'alice',
    address: '192.0.2.1',
    action: 'POST /__svc/admin/api/cache/purge',
    target,
    result,
    detail: '',
    request_id: 'r1',
  }
}

/** Users of these names are limited; the name of their area is the part before the dash. */
async function opened(t: TestContext, dir: string, nowMs: number): Promise<AuditLog> {
  const areaOf = (username: string) => (username === 'alice' ? undefined : username.split('-')[0])
  const log = await AuditLog.open({ stateDir: dir, logger: silent, nowMs, areaOf })
  t.after(() => log.close())
  return log
}

const targetsOf = (entries: readonly AuditRecord[]) => entries.map(({ target }) => target)

test('records are selected by user, operation, result and time, and a filter reads a bounded number of them', async (t) => {
  const log = await opened(t, tempDir(t), 1)
  const at = (hour: number) => `2026-01-01T0${hour}:00:00.000Z`
  for (let hour = 0; hour < 6; hour++) {
    const username = hour % 2 === 0 ? 'alice' : 'bob'
    await log.add({ ...recordOf(`{"tag":"T${hour}"}`, hour === 3 ? 'failed' : 'ok'), username, at: at(hour) })
  }
  const found = async (query: Partial<AuditQuery>) => {
    const { entries, cursor } = await log.page({ limit: 10, ...query })
    return [entries.map((entry) => entry.target.slice(8, 10)).join(' '), cursor]
  }
  assert.deepEqual(await found({ username: 'bob' }), ['T5 T3 T1', null])
  assert.deepEqual(await found({ result: 'failed' }), ['T3', null])
  assert.deepEqual(await found({ text: 'cache/purge {"tag":"t2' }), ['T2', null])
  assert.deepEqual(await found({ sinceMs: Date.parse(at(4)) }), ['T5 T4', null])
  const first = await log.page({ limit: 1, username: 'alice' })
  assert.deepEqual([first.entries[0]?.target, first.cursor === null], ['{"tag":"T4"}', false])
  const next = await log.page({ limit: 5, username: 'alice', before: first.cursor ?? 0 })
  assert.deepEqual([targetsOf(next.entries), next.cursor], [['{"tag":"T2"}', '{"tag":"T0"}'], null])
  assert.deepEqual(await found({ username: 'nobody' }), ['', null])
})

test('records are there after a restart, newest first, in pages', async (t) => {
  const dir = tempDir(t)
  const first = await opened(t, dir, 1)
  for (const target of ['a', 'b', 'c']) await first.add(recordOf(target))
  await first.close()
  const log = await opened(t, dir, 2)
  await log.add(recordOf('d', 'denied'))
  await log.add(recordOf('e'))
  const page = await log.page({ limit: 3 })
  assert.deepEqual(targetsOf(page.entries), ['e', 'd', 'c'])
  assert.deepEqual(page.entries[0], recordOf('e'))
  const rest = await log.page({ limit: 3, before: page.cursor ?? assert.fail('there are more') })
  assert.deepEqual([targetsOf(rest.entries), rest.cursor], [['b', 'a'], null])
  assert.deepEqual((await (await opened(t, tempDir(t), 1)).page({ limit: 10 })).entries, [])
})

test('a record that a crash has cut is left out, and the next one is whole', async (t) => {
  const dir = tempDir(t)
  const file = join(dir, 'audit.jsonl')
  const first = await opened(t, dir, 1)
  for (const target of ['a', 'b']) await first.add(recordOf(target))
  await first.close()
  truncateSync(file, statSync(file).size - 20)
  const log = await opened(t, dir, 2)
  await log.add(recordOf('c'))
  assert.deepEqual(targetsOf((await log.page({ limit: 10 })).entries), ['c', 'a'])
})

test('a record that the file system takes in part is left out, and the next one is whole', async (t) => {
  const dir = tempDir(t)
  const log = await opened(t, dir, 1)
  await log.add(recordOf('a'))
  const limitFiles = (bytes: number | 'unlimited') => execFileSync('prlimit', ['--pid', `${process.pid}`, `--fsize=${bytes}:`])
  const ignore = () => undefined
  process.on('SIGXFSZ', ignore)
  try {
    limitFiles(statSync(join(dir, 'audit.jsonl')).size + 20)
    await assert.rejects(log.add(recordOf('b')), { code: 'EFBIG' })
  } finally {
    limitFiles('unlimited')
    process.off('SIGXFSZ', ignore)
  }
  await log.add(recordOf('c'))
  assert.deepEqual(targetsOf((await log.page({ limit: 10 })).entries), ['c', 'a'])
})

test('the files stay within their bound and keep the newest; denied attempts push nothing else out', async (t) => {
  const dir = tempDir(t)
  const log = await opened(t, dir, 1)
  await log.add(recordOf('the only operation'))
  // Filled from outside, since so many single writes take long.
  const line = `${JSON.stringify({ ...recordOf('old', 'denied'), seq: 1 })}\n`
  appendFileSync(join(dir, 'audit-denied.jsonl'), line.repeat(Math.ceil((3 * 1024 * 1024) / line.length)))
  for (let index = 0; index < 3; index++) await log.add(recordOf(`denied ${index}`, 'denied'))
  assert.ok(statSync(join(dir, 'audit-denied.jsonl')).size < 2 * 1024 * 1024)
  assert.deepEqual(targetsOf((await log.page({ limit: 4 })).entries), ['denied 2', 'denied 1', 'denied 0', 'the only operation'])
})

test('a user of a limited role pushes nothing out that others did', async (t) => {
  const dir = tempDir(t)
  const log = await opened(t, dir, 1)
  await log.add(recordOf('by the operator'))
  const ofViewer = { ...recordOf('by the viewer', 'failed'), username: 'vera' }
  const line = `${JSON.stringify({ ...ofViewer, seq: 1 })}\n`
  for (let round = 0; round < 3; round++) {
    await log.add(ofViewer)
    await log.close()
    // The files of this user are filled from outside, since so many single writes take long.
    for (const name of readdirSync(dir).filter((file) => readFileSync(join(dir, file), 'utf8').includes('vera'))) {
      appendFileSync(join(dir, name), line.repeat(Math.ceil((4 * 1024 * 1024) / line.length)))
    }
    for (let index = 0; index < 2; index++) await log.add(ofViewer)
  }
  const written = readdirSync(dir).map((name) => readFileSync(join(dir, name), 'utf8'))
  assert.ok(written.some((text) => text.includes('by the operator')))
  assert.deepEqual(targetsOf((await log.page({ limit: 1 })).entries), ['by the viewer'])
})

test('a tenant pushes out no record of another tenant, not even with denied attempts, nor do guesses of its password', async (t) => {
  const dir = tempDir(t)
  const log = await opened(t, dir, 1)
  const by = (username: string, target: string, more: Partial<AuditRecord> = {}) => ({
    ...recordOf(target, 'denied'),
    username,
    ...more,
  })
  await log.add(by('acme-tom', 'of acme'))
  for (let i = 0; i < 3; i++) {
    const login = by('acme-tom', 'guess '.repeat(80), { action: 'POST /__svc/admin/api/login' })
    await log.add(by('globex-ida', 'x'.repeat(500)))
    await log.add(login)
    await log.close()
    // The files are filled from outside, since so many single writes take long.
    for (const text of ['globex', 'guess']) {
      for (const name of readdirSync(dir).filter((file) => readFileSync(join(dir, file), 'utf8').includes(text))) {
        appendFileSync(join(dir, name), `${JSON.stringify({ ...login, seq: 1 })}\n`.repeat(4_000))
      }
    }
  }
  const sizes = readdirSync(dir).map((name) => statSync(join(dir, name)).size)
  assert.ok(Math.min(...sizes) < 1_000, 'one file has the record of acme alone')
  const { entries } = await (await opened(t, dir, 2)).page({ limit: 20_000 })
  assert.ok(targetsOf(entries).includes('of acme'))
})

test('tenants past the bound of files share one', async (t) => {
  const dir = tempDir(t)
  const log = await opened(t, dir, 1)
  const tenants = Array.from({ length: 260 }, (_, i) => `tenant${i}`)
  for (const username of tenants) await log.add({ ...recordOf(username), username })
  assert.equal(readdirSync(dir).length, 257)
  const again = await opened(t, dir, 2)
  assert.deepEqual(targetsOf((await again.page({ limit: 300 })).entries), tenants.toReversed())
})

test('long fields are cut, and only the user of the instance can read the files', async (t) => {
  const dir = tempDir(t)
  const log = await opened(t, dir, 1)
  await log.add(recordOf('x'.repeat(100_000)))
  const file = join(dir, 'audit.jsonl')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.ok(readFileSync(file, 'utf8').length < 1_000)
})

test('many lines in one file are read in order over the borders of chunks', async (t) => {
  const dir = tempDir(t)
  const log = await opened(t, dir, 1)
  const count = 1_000
  await Promise.all(Array.from({ length: count }, (_, index) => log.add(recordOf(`${index} ${'ü'.repeat(index % 200)}`))))
  const { entries } = await log.page({ limit: count })
  assert.deepEqual(
    entries.map(({ target }) => Number.parseInt(target, 10)),
    Array.from({ length: count }, (_, index) => count - 1 - index),
  )
})
