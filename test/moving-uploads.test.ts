// Starts first: it waits for many limits.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { Child, PROCESS_WAIT_MS, type Server, startServer, svcCommand, waitFor } from '@svc/testkit'
import { runDirOf } from './control.ts'
import { type SiteProcess, startUnit } from './site-unit.ts'
import { beginUpload, startUploads, UploadLedger, uploadSite } from './uploads-under-load.ts'

async function open(t: TestContext, mode: SiteProcess = 'in-process', more = '') {
  const ledger = await UploadLedger.start(t)
  const root = uploadSite(t, ledger)
  const site = `id = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\nfetch_allow = ["${ledger.host}"]\nprocess = "${mode}"\n`
  const config = `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n\n[render]\ntimeout_ms = 30000\n${more}\n[[sites]]\n${site}`
  return { ledger, root, server: await startServer(t, { config }) }
}

async function svc(t: TestContext, server: Server, ...args: string[]): Promise<void> {
  const child = new Child(t, svcCommand, [...args, '--config', server.configFile ?? ''])
  assert.equal((await child.exited).code, 0, child.stderr)
}

async function move(t: TestContext, server: Server, mode: SiteProcess): Promise<void> {
  const file = server.configFile ?? ''
  writeFileSync(file, readFileSync(file, 'utf8').replace(/process = ".*"/, `process = "${mode}"`))
  await svc(t, server, 'reload')
}

/** Begins an upload and resolves when the handler has its first bytes. */
async function heldUpload(server: Server, ledger: UploadLedger) {
  const upload = beginUpload(server)
  await upload.send(Buffer.from('first '))
  await ledger.firstBytes(upload.id)
  return upload
}

test('an upload that is being received when its site moves or its host is replaced ends where it began, and later ones go on', async (t) => {
  const { ledger, server } = await open(t)
  const later = async () => {
    const upload = beginUpload(server)
    await upload.send(Buffer.from('later'))
    assert.equal(await upload.end(), '200 took 5')
  }
  const changes: Readonly<Record<string, () => Promise<unknown>>> = {
    'to its own process': async () => {
      await move(t, server, 'own')
      await startUnit(t, runDirOf(server), 'one')
    },
    'a restart of its own process': () => svc(t, server, 'workers', 'restart'),
    'and back': () => move(t, server, 'in-process'),
    'a restart of the shared hosts': () => svc(t, server, 'workers', 'restart'),
    'fresh isolates': () => svc(t, server, 'isolate', 'flush', 'one'),
  }
  for (const [name, change] of Object.entries(changes)) {
    const upload = await heldUpload(server, ledger)
    // A restart waits for the renders of the host that it replaces.
    const changed = change()
    await later()
    await upload.send(Buffer.from('last'))
    assert.equal(await upload.end(), '200 took 10', name)
    await changed
    assert.equal(ledger.begun.get(upload.id), 1, name)
  }
})

test('an upload to a site whose process has not started yet waits for it and runs once', async (t) => {
  const { ledger, server } = await open(t, 'own')
  const upload = beginUpload(server)
  await upload.send(Buffer.alloc(1_000_000))
  await startUnit(t, runDirOf(server), 'one')
  assert.equal(await upload.end(), '200 took 1000000')
  assert.equal(ledger.begun.get(upload.id), 1)
})

test('no upload fails and none runs twice while a reload moves its site back and forth', async (t) => {
  const { ledger, server } = await open(t)
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
  const { ledger, server } = await open(t, 'in-process', 'hosts = 2\n')
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
