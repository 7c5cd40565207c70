import assert from 'node:assert/strict'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { CoreError } from '@svc/core'
import { tempDir } from '@svc/testkit'
import { HeapSnapshots } from '../src/debug/heap-snapshots.ts'

type Answer = (file: string) => { bytes?: number } | Promise<{ bytes?: number }>

const hostWith = (id: string, answer: Answer) => ({
  id,
  process: { peer: { call: async (_name: 'heapSnapshot', { target }: { target: { file: string } }) => answer(target.file) } },
})
const writing = (id: string) =>
  hostWith(id, (file) => {
    writeFileSync(file, 'heap', { mode: 0o600 })
    return { bytes: 4 }
  })
const without = (id: string) => hostWith(id, () => ({}))

function start(t: Parameters<typeof tempDir>[0]) {
  const dir = tempDir(t, 'heap')
  let now = 0
  return new HeapSnapshots(dir, () => now++)
}

test('the first host with an isolate writes the file, and the last three are kept', async (t) => {
  const snapshots = start(t)
  const files: string[] = []
  for (let i = 0; i < 5; i++) {
    const { file, bytes, host } = await snapshots.take('../a b', [without('h1'), writing('h2'), writing('h3')])
    assert.deepEqual([bytes, host], [4, 'h2'])
    files.push(file)
  }
  const dir = dirname(files[0] ?? '')
  assert.equal(basename(dir), 'heap-snapshots')
  assert.equal(statSync(dir).mode & 0o777, 0o700)
  writeFileSync(join(dir, 'other'), '')
  assert.deepEqual(readdirSync(dir).sort(), [...files.slice(2).map((file) => basename(file)), 'other'])
})

test('one at a time; a host without an isolate, or one that ends meanwhile, leaves no file and lets the next one be taken', async (t) => {
  const snapshots = start(t)
  const wait = Promise.withResolvers<{ bytes: number }>()
  const first = snapshots.take('a', [hostWith('h1', () => wait.promise)])
  await assert.rejects(snapshots.take('a', [writing('h1')]), { code: 'SUP_SNAPSHOT', status: 409, message: /another/ })
  wait.resolve({ bytes: 1 })
  await first
  await assert.rejects(snapshots.take('a', [without('h1')]), { code: 'SUP_SNAPSHOT', message: /no isolate of a runs/ })
  let partial = ''
  const dying = hostWith('h1', (file) => {
    writeFileSync(file, 'part')
    partial = file
    throw new CoreError('CORE_PEER_GONE', 'gone')
  })
  await assert.rejects(snapshots.take('a', [dying]), { code: 'SUP_SNAPSHOT', message: /ended/ })
  assert.deepEqual(readdirSync(dirname(partial)), [])
  assert.equal((await snapshots.take('a', [writing('h1')])).bytes, 4)
})
