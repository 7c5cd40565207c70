import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entries, EntryQuery } from '@svc/admin'
import { withSealedCursors } from '../src/control/sealed-cursors.ts'

/** A listing of one entry on each page, whose cursors are legible. */
function listing(): { readonly entries: Entries; readonly asked: (string | undefined)[] } {
  const asked: (string | undefined)[] = []
  const list: Entries['list'] = async ({ cursor }) => {
    asked.push(cursor)
    return { entries: [], cursor: cursor === 'page 2' ? null : 'page 2', missing: [] }
  }
  const none = () => assert.fail()
  return { entries: { list, usage: none, find: none, body: none }, asked }
}

const query: EntryQuery = { layer: 'isr', labels: ['shop'], tag: 'news', prefix: '/a', limit: 1 }
const secret = 'x'.repeat(32)

test('a cursor continues its own listing alone, in every process with the same secret', async () => {
  const { entries, asked } = listing()
  const sealed = withSealedCursors(entries, () => secret)
  const cursor = (await sealed.list(query))?.cursor ?? assert.fail()
  assert.match(cursor, /^[\w-]+$/)
  assert.ok(!Buffer.from(cursor, 'base64url').toString('latin1').includes('page'), 'it shows nothing')
  const others: Partial<EntryQuery>[] = [
    { layer: 'proxy' },
    { labels: ['shop', 'blog'] },
    { labels: [] },
    { labels: undefined },
    { tag: undefined },
    { tag: '/a', prefix: 'news' },
    { prefix: '/' },
  ]
  for (const other of others) assert.equal(await sealed.list({ ...query, ...other, cursor }), undefined, JSON.stringify(other))
  const changed = Buffer.from(cursor, 'base64url')
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
  for (const madeUp of ['', 'page 2', '0.', 'A'.repeat(100), cursor.slice(0, -4), changed.toString('base64url')]) {
    assert.equal(await sealed.list({ ...query, cursor: madeUp }), undefined, madeUp)
  }
  assert.deepEqual(asked, [undefined], 'no store sees a cursor of another')
  const end = await withSealedCursors(entries, () => secret).list({ ...query, limit: 9, cursor })
  assert.deepEqual(end, { entries: [], cursor: null, missing: [] })
  assert.deepEqual(asked, [undefined, 'page 2'])
})

test('with another secret of tokens, cursors end', async () => {
  const { entries } = listing()
  let current: string | undefined = secret
  const sealed = withSealedCursors(entries, () => current)
  const cursor = (await sealed.list(query))?.cursor ?? assert.fail()
  current = secret.toUpperCase()
  assert.equal(await sealed.list({ ...query, cursor }), undefined)
  current = undefined
  const without = (await sealed.list(query))?.cursor ?? assert.fail()
  assert.notEqual(await sealed.list({ ...query, cursor: without }), undefined)
  assert.equal(await withSealedCursors(entries, () => undefined).list({ ...query, cursor: without }), undefined)
})
