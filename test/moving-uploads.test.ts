// Campaign: changes of the place of uploads.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Server } from '@svc/testkit'
import { runDirOf } from './control.ts'
import { startUnit } from './site-unit.ts'
import { beginUpload, move, openUploads, svc, type UploadLedger } from './uploads-under-load.ts'

/** Begins an upload and resolves when the handler has its first bytes. */
async function heldUpload(server: Server, ledger: UploadLedger) {
  const upload = beginUpload(server)
  await upload.send(Buffer.from('first '))
  await ledger.firstBytes(upload.id)
  return upload
}

test('an upload that is being received when its site moves or its host is replaced ends where it began, and later ones go on', async (t) => {
  const { ledger, server } = await openUploads(t)
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
  const { ledger, server } = await openUploads(t, 'own')
  const upload = beginUpload(server)
  await upload.send(Buffer.alloc(1_000_000))
  await startUnit(t, runDirOf(server), 'one')
  assert.equal(await upload.end(), '200 took 1000000')
  assert.equal(ledger.begun.get(upload.id), 1)
})
