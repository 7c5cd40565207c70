// Campaign: kills of processes that write files.
import assert from 'node:assert/strict'
import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Child, PROCESS_WAIT_MS, tempDir, waitFor } from '@svc/testkit'
import { isWhole } from '../entries.ts'
import { addressOf, bodyOf, filesOf, openProxyStore } from './proxy-fixture.ts'

const program = fileURLToPath(new URL('./writer-program.ts', import.meta.url))

test('writers that are killed leave whole answers or none, and files that are cleared away', async (t) => {
  const cacheDir = tempDir(t)
  const store = await openProxyStore(t, cacheDir, 8 << 20)
  for (const [name, batches] of [
    ['one', 3],
    ['two', 9],
    ['three', 14],
  ] as const) {
    const child = new Child(t, process.execPath, ['--disable-warning=ExperimentalWarning', program, cacheDir, name])
    await child.waitForLine('its batches', (line) => line === `${name} batch ${batches}`)
    await child.kill()
    store.entries.room.checkReaders()
  }
  store.entries.refresh()
  const whole = await countWhole(store)
  assert.ok(whole > 20, `${whole} answers`)
  assert.ok(store.entries.room.size().bytes <= 8 << 20)
  await store.files.sweepIncoming()
  assert.deepEqual(filesOf(cacheDir).incoming, [])
  await store.entries.close()

  for (const name of filesOf(cacheDir).bodies) utimesSync(join(cacheDir, 'proxy/bodies', name), 1, 1)
  const next = await openProxyStore(t, cacheDir, 8 << 20)
  assert.equal(next.entries.damage, undefined)
  await next.entries.room.evict()
  await next.sweepFiles()
  assert.equal(await countWhole(next), whole)
  const used = Array.from({ length: 100 }, (_, number) => next.find(addressOf(`/${number}`), []).found?.entry.bodyFile?.name)
  const names = () => filesOf(cacheDir).bodies.map((path) => path.split('/')[1] ?? '')
  await waitFor('only files of answers are left', () => names().every((name) => used.includes(name)), PROCESS_WAIT_MS)
})

/** Every answer that is found has its whole body. */
async function countWhole(store: Awaited<ReturnType<typeof openProxyStore>>): Promise<number> {
  let count = 0
  for (let number = 0; number < 100; number++) {
    if (store.find(addressOf(`/${number}`), []).found === undefined) continue
    const body = await bodyOf(store, `/${number}`)
    assert.ok(body !== undefined && isWhole(Buffer.from(body, 'latin1')), `/${number}`)
    count++
  }
  return count
}
