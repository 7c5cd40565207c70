import { rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { EntryStore } from '@svc/cache'
import { adminToml, bearer } from '../../packages/auth/test/admin-users.ts'
import { serverAt } from '../../packages/cli/src/control/control-client.ts'
import { ask } from '../lib/ask.ts'
import { fill, GROUP, groupTag, keyOf, LARGE_GROUP, largeGroupTag, pathOf } from '../lib/isr-entries.ts'
import { figure, type Row } from '../lib/table.ts'
import { timed } from '../lib/timing.ts'
import { rowsSite, startSvc, workDir, writeConfig } from '../peers/svc.ts'

const LABEL = 'rows'
const NAME = 'purge'
const MAX_ENTRIES = 200_000
const MAX_BYTES = 1 << 30
/** Timeout of the control socket: longer than any measured operation. */
const TIMEOUT_MS = 60_000
const WARM_UPS = 20

/** A group of entries that one purge by tag drops. */
interface Group {
  readonly size: number
  readonly rounds: number
  readonly tagOf: (group: number) => string
}

const groups: readonly Group[] = [
  { size: 1, rounds: 300, tagOf: pathOf },
  { size: GROUP, rounds: 200, tagOf: groupTag },
  { size: LARGE_GROUP, rounds: 20, tagOf: largeGroupTag },
]

/** Purges a full tag. Resolves with the number of dropped entries. */
type PurgeTag = (tag: string) => Promise<number>

/** The ways to request a purge. */
function ways(url: string, agent: Agent): Readonly<Record<string, PurgeTag>> {
  const socket = join(workDir, NAME, 'run/control.sock')
  return {
    endpoint: async (tag) => {
      const target = `${url}/__svc/admin/api/cache/purge?tag=${encodeURIComponent(tag)}`
      return (JSON.parse(await ask(target, { agent, method: 'POST', headers: await bearer('root') })) as { purged: number })
        .purged
    },
    'control socket': async (tag) => {
      const order = { layers: ['isr' as const], scopes: [{ kind: 'tags' as const, tags: [tag] }], mode: 'drop' as const }
      return (await serverAt(socket)('purge', { order }, TIMEOUT_MS)).isr
    },
  }
}

/** The reply to a purge comes before the store has applied it: entries put back too early would be dropped as well. */
async function gone(store: EntryStore, from: number, to: number): Promise<void> {
  for (let index = from; index < to; index++) {
    while (store.has(keyOf(LABEL, index))) await nextTurn()
  }
}

/** Purges group after group; puts the dropped entries back before the next one, unmeasured. */
async function measureGroup(store: EntryStore, entries: number, group: Group, purge: PurgeTag): Promise<Record<string, string>> {
  const { size, rounds, tagOf } = group
  const body = Buffer.alloc(1024, 'x')
  const numberOf = (round: number) => round % (entries / size)
  const once = async (round: number) => {
    const purged = await purge(`route:${LABEL}:${tagOf(numberOf(round))}`)
    if (purged !== size) throw new Error(`${purged} entries purged, not ${size}`)
  }
  const putBack = async (round: number) => {
    const [from, to] = [numberOf(round) * size, (numberOf(round) + 1) * size]
    await gone(store, from, to)
    await fill(store, LABEL, body, from, to)
  }
  if (size < LARGE_GROUP) await timed(WARM_UPS, once, putBack)
  const { leastMs, medianMs, p99Ms } = await timed(rounds, once, putBack)
  const all = { 'least ms': leastMs, median: medianMs, p99: p99Ms }
  return Object.fromEntries(Object.entries(all).map(([name, ms]) => [`${size}: ${name}`, figure(ms)]))
}

/** Purges by tag of a running server, from the request to the reply: of 1, 100 and 10,000 entries among 10,000 and 100,000. */
export async function wholePurges(): Promise<Row[]> {
  rmSync(join(workDir, NAME), { recursive: true, force: true })
  const bounds = `[cache.isr]\nmax_entries = ${MAX_ENTRIES}\nmax_bytes = ${MAX_BYTES}\n\n${adminToml}`
  const server = await startSvc(writeConfig(NAME, [{ id: LABEL, root: rowsSite }], bounds), 2)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const options = { cacheDir: join(workDir, NAME, 'cache'), maxEntries: MAX_ENTRIES, maxBytes: MAX_BYTES, graceMs: 0 }
  const store = await EntryStore.join(options)
  const rows: Row[] = []
  try {
    if (store.problem !== undefined) throw new Error(store.problem)
    let filled = 0
    for (const entries of [10_000, 100_000]) {
      await fill(store, LABEL, Buffer.alloc(1024, 'x'), filled, entries)
      filled = entries
      for (const [way, purge] of Object.entries(ways(server.url, agent))) {
        let figures = {}
        for (const group of groups) figures = { ...figures, ...(await measureGroup(store, entries, group, purge)) }
        rows.push({ scenario: 'purge of a running server, by entries purged', server: `${way}, ${entries} stored`, figures })
      }
    }
    return rows
  } finally {
    agent.destroy()
    await store.close()
    await server.stop()
  }
}
