import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fill, fullTag, matches, type Purge, type Purgeable, PurgeLedger, type PurgeScope } from '../src/index.ts'

const entryOf = (label: string, name: string): Purgeable => ({
  label,
  host: `${label}.example`,
  path: `/${name}`,
  tags: [fullTag(label, `/${name}`), fullTag(label, name)],
})

const purgeOf = (number: number, scope: PurgeScope, more: Partial<Purge> = {}): Purge => ({
  number,
  layers: ['isr'],
  scopes: [scope],
  mode: 'drop',
  ...more,
})

const posts: PurgeScope = { kind: 'tags', tags: ['route:a:posts'] }

test('a fill that outlived a purge of its tag is not stored', () => {
  const ledger = new PurgeLedger()
  const fill = ledger.begin()
  ledger.add(purgeOf(1, posts))
  ledger.settled(1)
  assert.equal(ledger.mayStore(fill, entryOf('a', 'posts')), false)
  assert.equal(ledger.mayStore(fill, entryOf('b', 'posts')), true)
})

test('a fill that began after a purge is stored', () => {
  const ledger = new PurgeLedger()
  ledger.add(purgeOf(1, posts))
  assert.equal(ledger.mayStore(ledger.begin(), entryOf('a', 'posts')), true)
})

test('an entry older than an unsettled purge is not served, and a younger one is', () => {
  const ledger = new PurgeLedger({ last: 6, unsettled: [purgeOf(6, posts)] })
  assert.equal(ledger.mayServe(5, entryOf('a', 'posts')), false)
  assert.equal(ledger.mayServe(6, entryOf('a', 'posts')), true)
  ledger.settled(6)
  assert.equal(ledger.mayServe(5, entryOf('a', 'posts')), true, 'the store has been cleaned')
})

test('a purge that marks entries stale leaves them usable but lets nothing be made of them', () => {
  const ledger = new PurgeLedger()
  const fill = ledger.begin()
  ledger.add(purgeOf(1, posts, { mode: 'stale' }))
  assert.equal(ledger.mayServe(0, entryOf('a', 'posts')), true)
  assert.equal(ledger.mayServe(0, entryOf('a', 'posts'), 'l0'), false)
  assert.equal(ledger.mayStore(fill, entryOf('a', 'posts')), false)
})

test('a purge of L0 alone leaves deeper layers alone, and a purge of a deeper layer takes L0 along', () => {
  const ledger = new PurgeLedger()
  const fill = ledger.begin()
  ledger.add(purgeOf(1, { kind: 'everything' }, { layers: ['l0'] }))
  assert.equal(ledger.mayStore(fill, entryOf('a', 'x')), true)
  assert.equal(ledger.mayStore(fill, entryOf('a', 'x'), 'l0'), false)
  ledger.add(purgeOf(2, posts, { layers: ['proxy'] }))
  assert.equal(ledger.mayStore(fill, entryOf('a', 'posts'), 'isr'), true)
  assert.equal(ledger.mayStore(fill, entryOf('a', 'posts'), 'proxy'), false)
})

test('past the bound of kept purges older fills lose the right to be stored, younger ones do not', () => {
  const ledger = new PurgeLedger({ last: 0, unsettled: [] }, 3)
  const old = ledger.begin()
  ledger.add(purgeOf(1, posts))
  const young = ledger.begin()
  for (let number = 2; number <= 4; number++) ledger.add(purgeOf(number, posts))
  assert.equal(ledger.kept, 3)
  assert.equal(ledger.mayStore(old, entryOf('b', 'other')), false)
  assert.equal(ledger.mayStore(young, entryOf('b', 'other')), true)
  assert.equal(ledger.mayServe(0, entryOf('a', 'posts')), false, 'what is unsettled is never forgotten')
})

test('a fill that a purge overtook may answer requests from before the purge', () => {
  const ledger = new PurgeLedger()
  const fill = ledger.begin()
  ledger.add(purgeOf(1, posts))
  ledger.add(purgeOf(2, { kind: 'labels', labels: ['b'] }))
  assert.equal(ledger.mayStore(fill, entryOf('a', 'posts')), false)
  assert.equal(ledger.mayGive(fill, entryOf('a', 'posts'), 0), true)
  assert.equal(ledger.mayGive(fill, entryOf('a', 'posts'), 1), false)
  assert.equal(ledger.mayGive(fill, entryOf('b', 'posts'), 1), true)
  assert.equal(ledger.mayGive(fill, entryOf('b', 'posts'), 2), false)
})

test('an entry stored before the last purges may enter L0 when no older fill is in flight', () => {
  const begun = new PurgeLedger()
  begun.reset({ last: 4, unsettled: [purgeOf(4, posts)] })
  assert.equal(begun.mayStore({ seq: 2 }, entryOf('b', 'x'), 'l0'), true, 'a process that has just begun')
  assert.equal(begun.mayStore({ seq: 2 }, entryOf('a', 'posts'), 'l0'), false)
  const busy = new PurgeLedger({ last: 0, unsettled: [] }, 2)
  const slow = busy.begin()
  for (let number = 1; number <= 3; number++) {
    busy.add(purgeOf(number, posts))
    busy.settled(number)
  }
  assert.equal(busy.mayStore(slow, entryOf('b', 'x')), false)
  busy.end(slow)
  assert.equal(busy.mayStore({ seq: 0 }, entryOf('b', 'x'), 'l0'), true, 'a process whose slowest fill has ended')
})

test('a purge is forgotten when it is settled and the last older fill has ended', () => {
  const ledger = new PurgeLedger()
  const fill = ledger.begin()
  const twin = ledger.begin()
  ledger.add(purgeOf(1, posts))
  ledger.settled(1)
  ledger.end(fill)
  assert.equal(ledger.kept, 1)
  ledger.end(twin)
  assert.equal(ledger.kept, 0)
})

test('missed purges take the right to be stored from every older fill', () => {
  const ledger = new PurgeLedger()
  const fill = ledger.begin()
  ledger.reset({ last: 4, unsettled: [purgeOf(4, posts)] })
  assert.equal(ledger.mayStore(fill, entryOf('b', 'x')), false)
  assert.equal(ledger.mayStore(ledger.begin(), entryOf('a', 'posts')), true)
  assert.equal(ledger.mayServe(3, entryOf('a', 'posts')), false)
})

test('a state that misses nothing keeps the right of fills, and what it says is settled is', () => {
  const ledger = new PurgeLedger()
  const fill = ledger.begin()
  ledger.add(purgeOf(1, posts))
  ledger.add(purgeOf(2, { kind: 'labels', labels: ['c'] }))
  ledger.reset({ last: 2, unsettled: [purgeOf(2, { kind: 'labels', labels: ['c'] })] })
  assert.equal(ledger.mayServe(0, entryOf('a', 'posts')), true)
  assert.equal(ledger.mayServe(0, entryOf('c', 'x')), false)
  assert.equal(ledger.mayStore(fill, entryOf('a', 'posts')), false)
  assert.equal(ledger.mayStore(fill, entryOf('b', 'x')), true)
})

/** Remembers everything for ever, and asks it all every time. */
class NaiveLedger {
  readonly purges: Purge[] = []
  readonly unsettled = new Set<number>()

  mayStore(seq: number, entry: Purgeable): boolean {
    return !this.purges.some((purge) => purge.number > seq && matches(purge, entry))
  }

  mayServe(seq: number, entry: Purgeable): boolean {
    return !this.purges.some((purge) => this.unsettled.has(purge.number) && purge.number > seq && matches(purge, entry))
  }
}

/** A small generator with a seed, so that a failure can be repeated. */
function randomOf(seed: number): (bound: number) => number {
  let state = seed
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
}

const labels = ['a', 'b', 'c']
const names = ['x', 'y', 'posts']

function randomScope(random: (bound: number) => number): PurgeScope {
  const label = labels[random(labels.length)] ?? ''
  const name = names[random(names.length)] ?? ''
  const scopes: PurgeScope[] = [
    { kind: 'everything' },
    { kind: 'labels', labels: [label] },
    { kind: 'hosts', hosts: [`${label}.example`] },
    { kind: 'tags', tags: [fullTag(label, name)] },
    { kind: 'pattern', pattern: `route:*:${name}`, labels: null },
    { kind: 'paths', paths: [`/${name}`], hosts: null },
  ]
  return scopes[random(scopes.length)] ?? { kind: 'everything' }
}

test('agrees with a ledger that never forgets, for any order of fills, purges and settles', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = randomOf(seed)
    const ledger = new PurgeLedger()
    const naive = new NaiveLedger()
    const open: Fill[] = []
    for (let step = 0; step < 80; step++) {
      const choice = random(4)
      if (choice === 0) open.push(ledger.begin())
      else if (choice === 1) {
        const purge = purgeOf(ledger.last + 1 + random(3), randomScope(random))
        naive.purges.push(purge)
        naive.unsettled.add(purge.number)
        ledger.add(purge)
      } else if (choice === 2) {
        const waiting = [...naive.unsettled]
        const number = waiting[random(waiting.length)]
        if (number === undefined) continue
        naive.unsettled.delete(number)
        ledger.settled(number)
      } else {
        const [ended] = open.splice(random(open.length), 1)
        if (ended !== undefined) ledger.end(ended)
      }
      const entry = entryOf(labels[random(3)] ?? '', names[random(3)] ?? '')
      for (const fill of open) assert.equal(ledger.mayStore(fill, entry), naive.mayStore(fill.seq, entry), `seed ${seed}`)
      const seq = random(ledger.last + 1)
      assert.equal(ledger.mayServe(seq, entry), naive.mayServe(seq, entry), `seed ${seed}`)
    }
    for (const fill of open) ledger.end(fill)
    for (const number of naive.unsettled) ledger.settled(number)
    assert.equal(ledger.kept, 0, `seed ${seed}: everything is forgotten in the end`)
  }
})
