import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '@svc/testkit'
import ivm from 'isolated-vm'
import { requireMemory, takeHeapSnapshot } from '../src/thread/heap-snapshot.ts'

async function isolateWith(t: Parameters<typeof tempDir>[0], code: string) {
  const isolate = new ivm.Isolate({ memoryLimit: 64, inspector: true })
  t.after(() => isolate.dispose())
  const context = await isolate.createContext()
  await context.eval(code)
  return { isolate, context }
}

test('the heap of an isolate is written into a private file, again and again, and the isolate goes on', async (t) => {
  const dir = tempDir(t, 'heap')
  const { isolate, context } = await isolateWith(t, 'globalThis.kept = { password: "hunter2 é" + String(Math.sqrt(4)) }')
  for (const name of ['one', 'two']) {
    const file = join(dir, name)
    const bytes = await takeHeapSnapshot(isolate, { file, maxBytes: 64 << 20 })
    assert.equal(statSync(file).size, bytes)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const { snapshot, strings } = JSON.parse(readFileSync(file, 'utf8'))
    assert.ok(snapshot.node_count > 100)
    assert.ok(strings.some((text: string) => text.startsWith('hunter2 é')))
    assert.equal(await context.eval('1 + 1'), 2)
  }
})

test('a snapshot past its bound leaves no file, and none replaces a file or follows a link', async (t) => {
  const dir = tempDir(t, 'heap')
  const { isolate } = await isolateWith(t, '')
  const file = join(dir, 'large')
  await assert.rejects(takeHeapSnapshot(isolate, { file, maxBytes: 1000 }), {
    code: 'RENDER_SNAPSHOT',
    message: /larger than 1000/,
  })
  assert.ok(!existsSync(file))
  writeFileSync(file, 'mine')
  await assert.rejects(takeHeapSnapshot(isolate, { file, maxBytes: 64 << 20 }), { code: 'EEXIST' })
  assert.equal(readFileSync(file, 'utf8'), 'mine')
})

test('no snapshot is taken that the memory of the machine may not hold', () => {
  requireMemory(10 << 20, 1 << 30)
  assert.throws(() => requireMemory(100 << 20, 2 * 2 ** 30), { code: 'RENDER_SNAPSHOT', message: /2656 MB needed, 2048 MB/ })
})
