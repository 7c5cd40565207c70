import assert from 'node:assert/strict'
import type { EntryStore } from '../../src/index.ts'

interface Counted {
  readonly entries: number
  readonly bytes: number
  readonly queryEntries: number
  readonly queryBytes: number
}

function counted(store: EntryStore): Map<string, Counted> {
  const found = new Map<string, Counted>()
  for (const { facts, bytes } of store.list({ limit: 100_000 }).entries) {
    const before = found.get(facts.label) ?? { entries: 0, bytes: 0, queryEntries: 0, queryBytes: 0 }
    const isQuery = facts.isQueryKeyed ? 1 : 0
    found.set(facts.label, {
      entries: before.entries + 1,
      bytes: before.bytes + bytes,
      queryEntries: before.queryEntries + isQuery,
      queryBytes: before.queryBytes + isQuery * bytes,
    })
  }
  return found
}

/** The store counts for each label exactly the entries that it has. */
export function expectTrueUsages(store: EntryStore): void {
  store.refresh()
  const usages = store.room.usages().filter(({ entries }) => entries !== 0)
  const found = usages.map(({ label, entries, bytes, queryEntries, queryBytes }): [string, Counted] => [
    label,
    { entries, bytes, queryEntries, queryBytes },
  ])
  assert.deepEqual(new Map(found), counted(store))
  for (const { entries, queryEntries, newEntries, bytes, queryBytes, newBytes, label } of store.room.usages()) {
    assert.ok(queryEntries + newEntries <= entries && queryBytes + newBytes <= bytes, label)
    assert.ok(Math.min(entries, bytes, queryEntries, queryBytes, newEntries, newBytes) >= 0, label)
  }
}
