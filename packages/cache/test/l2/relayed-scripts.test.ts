import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeOf } from '@svc/core'
import { RelayedCommands, type RelayedScript, runRelayed } from '../../src/l2/relayed-scripts.ts'
import { READ, STORE } from '../../src/l2/scripts.ts'
import type { SharedCommands } from '../../src/l2/shared-cache.ts'

const KEYS = ['{blog}:isr:entry:a-B_9', '{blog}:isr:versions']

/** A master with a Redis that answers with what it was asked. */
function master(reply: unknown = ['miss', Buffer.from('7')]) {
  const asked: unknown[] = []
  const commands: SharedCommands = {
    isUsable: true,
    script: async ({ name }, keys, args) => {
      asked.push([name, keys, args.map(String)])
      return reply
    },
  }
  const run = (call: RelayedScript, bytes: Uint8Array) => runRelayed(commands, 'svc:', call, bytes, (label) => label === 'blog')
  return { asked, run }
}

test('a script of a render host runs in the master, with the prefix of its keys and all bytes of its arguments', async () => {
  const { asked, run } = master(['hit', Buffer.from([0, 255])])
  const commands = new RelayedCommands(run, () => 0)
  assert.deepEqual(await commands.script(READ, KEYS, ['12', Buffer.alloc(0)]), ['hit', Buffer.from([0, 255])])
  assert.deepEqual(asked, [[READ.name, KEYS.map((key) => `svc:${key}`), ['12', '']]])
  const stored = master(1)
  assert.deepEqual(await new RelayedCommands(stored.run, () => 0).script(STORE, KEYS, ['token', Buffer.from('entry')]), ['1'])
  assert.deepEqual(stored.asked, [[STORE.name, KEYS.map((key) => `svc:${key}`), ['token', 'entry']]])
})

const refused: Readonly<Record<string, Partial<RelayedScript>>> = {
  'of another site': { keys: ['{shop}:isr:versions'] },
  'of another layer': { keys: ['{blog}:proxy:versions'] },
  'of the stream of purges': { keys: ['purges'] },
  'with a key that only begins like one': { keys: ['{blog}:isr:versions:more'] },
  'with too many keys': { keys: [...KEYS, ...KEYS] },
  'with arguments of other lengths': { lengths: [4] },
  'with a negative length': { lengths: [8, -5] },
}
for (const [name, change] of Object.entries(refused)) {
  test(`the master refuses a script ${name}`, async () => {
    const { asked, run } = master()
    const call: RelayedScript = { script: 'read', keys: KEYS, lengths: [3], ...change }
    await assert.rejects(run(call, Buffer.from('abc')), (error) => codeOf(error) === 'CACHE_RELAY')
    assert.deepEqual(asked, [])
  })
}

test('a host leaves the master alone for a second after a failure, and past a thousand scripts in a second', async () => {
  let now = 0
  let isFailing = true
  const commands = new RelayedCommands(
    async () => {
      if (isFailing) throw new Error('away')
      return { words: ['miss', '7'], entry: undefined }
    },
    () => now,
  )
  await assert.rejects(commands.script(READ, KEYS, []))
  assert.equal(commands.isUsable, false)
  now = 1_000
  assert.equal(commands.isUsable, true)
  isFailing = false
  for (let i = 0; i < 1_000; i++) await commands.script(READ, KEYS, [])
  assert.equal(commands.isUsable, false)
  now = 2_000
  assert.equal(commands.isUsable, true)
})
