import { parseArgs } from 'node:util'
import { soakParts } from './parts.ts'
import type { SoakPart } from './soak-part.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string' },
    list: { type: 'boolean' },
  },
})

/** Numbers from 0 to 1 that the seed decides (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Runs a part and what it leaves behind to be undone. Returns whether it held. */
async function soak(name: string, part: SoakPart, seed: number, endsAt: number): Promise<boolean> {
  const undone: (() => unknown)[] = []
  const cleanup = { after: (task?: unknown) => void (typeof task === 'function' && undone.push(() => task())) }
  const rounds = values.rounds === undefined ? part.rounds : Number(values.rounds)
  const report = (text: string) => console.error(`${name} ${text}`)
  try {
    const done = await part.run({ rounds, endsAt, random: randomOf(seed), cleanup, report })
    console.log(`${name}: ${done} of ${rounds} rounds held (seed ${seed})`)
    return true
  } catch (error) {
    console.log(`${name}: FAILED (seed ${seed})`, error)
    return false
  } finally {
    for (const undo of undone) await undo()
  }
}

const chosen = positionals.length > 0 ? positionals : Object.keys(soakParts)
const unknown = chosen.filter((name) => !(name in soakParts))
if (values.list === true || unknown.length > 0) {
  if (unknown.length > 0) console.error(`no part ${unknown.join(', ')}; there are:`)
  for (const [name, { about, rounds }] of Object.entries(soakParts)) console.log(`${name.padEnd(16)} ${about} (${rounds} rounds)`)
  process.exit(unknown.length > 0 ? 64 : 0)
}
const seed = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed)
const endsAt = Date.now() + Number(values.minutes) * 60_000
let isHeld = true
for (const name of chosen) {
  const part = soakParts[name]
  if (part !== undefined) isHeld = (await soak(name, part, seed, endsAt)) && isHeld
}
process.exit(isHeld ? 0 : 1)
