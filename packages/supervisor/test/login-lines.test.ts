import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '@svc/testkit'
import { StrangerLines, VerificationLine } from '../src/sessions/login-lines.ts'

interface Source {
  readonly network: string
  readonly hasFailed: boolean
}

function fresh(network: string): Source {
  return { network, hasFailed: false }
}

function failed(network: string): Source {
  return { network, hasFailed: true }
}

/** Attempts as one user, and those that had a turn or lost their place, in that order. */
class Strangers {
  readonly clock = new ManualClock()
  readonly lines = new StrangerLines(this.clock)
  readonly turns: string[] = []
  readonly lost: string[] = []

  come(...sources: Source[]): void {
    for (const source of sources) {
      void this.lines.turn('ann', source).then((hasTurn) => (hasTurn ? this.turns : this.lost).push(source.network))
    }
  }

  /** Lets seconds pass. */
  async pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds; i++) this.clock.advance(1_000)
    await null
    await null
  }
}

test('strangers of a user have one turn a second: ten wait, others lose their place', async () => {
  const strangers = new Strangers()
  strangers.come(...Array.from({ length: 13 }, (_, i) => fresh(`n${i}`)))
  await strangers.pass(0)
  assert.deepEqual([strangers.turns, strangers.lost], [['n0'], ['n11', 'n12']])
  await strangers.pass(9)
  assert.equal(strangers.turns.length, 10)
  await strangers.pass(2)
  assert.equal(strangers.turns.length, 11)
  assert.equal(strangers.clock.timers, 0, 'nothing waits')
  strangers.come(fresh('late'))
  await strangers.pass(0)
  assert.equal(strangers.turns.at(-1), 'late')
})

test('networks of a user take turns: one that floods loses its own places', async () => {
  const strangers = new Strangers()
  strangers.come(...Array.from({ length: 50 }, () => fresh('flood')), fresh('operator'))
  await strangers.pass(2)
  assert.deepEqual(strangers.turns, ['flood', 'flood', 'operator'])
})

test('networks that have failed lately take no place from one that has not, nor the reverse', async () => {
  for (const [flood, operator] of [
    [failed, fresh],
    [fresh, failed],
  ] as const) {
    const strangers = new Strangers()
    strangers.come(...Array.from({ length: 50 }, (_, i) => flood(`n${i}`)))
    strangers.come(operator('operator'))
    await strangers.pass(2)
    assert.deepEqual(strangers.turns, ['n0', 'n1', 'operator'])
  }
})

test('verifications run one at a time, known networks first, then networks in turns; past 64 the busiest network loses', async () => {
  const line = new VerificationLine()
  const done: string[] = []
  let running = 0
  const verify = (source: Source, isKnown = false) =>
    line.run({ ...source, isKnown }, async () => {
      assert.equal(++running, 1)
      await null
      running--
      return done.push(source.network)
    })
  const first = verify(fresh('first'))
  const flood = Array.from({ length: 64 }, () => verify(failed('flood')))
  const rest = [verify(failed('n1')), verify(fresh('n2')), verify(fresh('home'), true)]
  assert.ok((await first) === 1 && (await Promise.all(rest)).every((place) => place !== undefined))
  assert.deepEqual(done.slice(0, 5), ['first', 'home', 'flood', 'n2', 'n1'])
  const verified = await Promise.all(flood)
  assert.equal(verified.filter((place) => place === undefined).length, 2)
  assert.equal(await verify(fresh('again')), done.length)
})
