// Campaign: changes of the place of uploads under load.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { runDirOf } from './control.ts'
import { startUnit } from './site-unit.ts'
import { move, openUploads, startUploads, svc } from './uploads-under-load.ts'

test('no upload fails and none runs twice while a reload moves its site back and forth', async (t) => {
  const { ledger, server } = await openUploads(t)
  const load = startUploads(t, server, ledger)
  const goesOn = async (what: string) => {
    const before = load.done()
    await waitFor(`uploads after ${what}`, () => load.done() > before + 20, PROCESS_WAIT_MS)
  }
  await goesOn('the start')
  await move(t, server, 'own')
  await startUnit(t, runDirOf(server), 'one')
  await goesOn('the move to its own process')
  await move(t, server, 'in-process')
  await goesOn('the move back')
  await move(t, server, 'own')
  await goesOn('the second move')
  const { failures, done } = await load.stop()
  assert.deepEqual(failures.slice(0, 5), [], `of ${done}`)
})

test('no upload fails and none runs twice under rolling restarts and flushes of isolates', async (t) => {
  const { ledger, server } = await openUploads(t, 'in-process', 'hosts = 2\n')
  const load = startUploads(t, server, ledger)
  for (const command of [
    ['workers', 'restart'],
    ['isolate', 'flush', 'one'],
  ]) {
    const before = load.done()
    await svc(t, server, ...command)
    await waitFor('uploads', () => load.done() > before + 20, PROCESS_WAIT_MS)
  }
  const { failures, done } = await load.stop()
  assert.deepEqual(failures.slice(0, 5), [], `of ${done}`)
})
