// Runs alone: it starts and kills processes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Revocations } from '@svc/protocol'
import { PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { Instance, type Running } from './harness.ts'

const holder = { username: 'ann', expiresAt: Date.now() + 3_600_000 }
const revoke = (jti: string) => `/revoke?request=${encodeURIComponent(JSON.stringify({ jti, holder }))}`

async function revokedIds(server: Running): Promise<string[]> {
  const messages = JSON.parse(await server.fetch('/revoked')) as Revocations[]
  return messages.flatMap(({ tokens }) => tokens.map(({ jti }) => jti))
}

test('a revocation reaches the workers, and those that start later, also after the master was killed', async (t) => {
  const instance = new Instance(t)
  const server = await instance.start()
  assert.deepEqual(JSON.parse(await server.fetch(revoke('one'))), { isFound: true })
  assert.deepEqual(await revokedIds(server), ['one'])
  const { pid } = await server.worker()
  process.kill(pid, 'SIGKILL')
  await waitFor('a new worker', () => server.worker().catch(() => undefined), PROCESS_WAIT_MS)
  assert.deepEqual(await revokedIds(server), ['one'])
  await server.child.kill()
  assert.deepEqual(await revokedIds(await instance.start()), ['one'])
})

test('a worker that does not note a revocation is killed and replaced before the answer', async (t) => {
  const server = await new Instance(t).start({ timings: { purgeTimeoutMs: 3_000 } })
  const { pid } = await server.worker()
  await server.fetch('/mute')
  // The worker that asks is the one that is killed.
  await assert.rejects(server.fetch(revoke('one')))
  const fresh = await waitFor('a new worker', () => server.worker().catch(() => undefined), PROCESS_WAIT_MS)
  assert.notEqual(fresh.pid, pid)
  assert.deepEqual(await revokedIds(server), ['one'])
})
