import { Agent } from 'node:http'
import { adminToml, bearer } from '../../packages/auth/test/admin-users.ts'
import { ask } from '../lib/ask.ts'
import { type Contender, compare } from '../lib/compare.ts'
import { figure, type Row } from '../lib/table.ts'
import { hasNext, startNext } from '../peers/next.ts'
import { rowsSite, startSvc, writeConfig } from '../peers/svc.ts'

const CONNECTIONS = 32
const HOST = 'rows.localhost'
/** Clients of a storm. */
const STORM = 500
const STORMS = 10

function contender(extra: string): Contender {
  const sites = [{ id: 'rows', root: rowsSite }]
  return { name: 'svc, L0 off', host: HOST, start: () => startSvc(writeConfig('isr-pages', sites, extra)) }
}

/** A stored page of 100 rows, past L0, against the same page stored by Next.js. */
export function isrHits(seconds: number): Promise<Row[]> {
  const contenders = [contender('[cache.l0]\nenabled = false\n')]
  if (hasNext) contenders.push({ name: 'next start', start: startNext })
  return compare({ scenario: 'stored page, 100 rows', path: '/kept', contenders, seconds, connections: CONNECTIONS })
}

async function renders(url: string, agent: Agent): Promise<number> {
  const text = await ask(`${url}/__svc/metrics`, { agent, host: HOST })
  const value = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
  return value('cache_misses_total\\{layer="l1"\\}') - value('cache_stampede_coalesced_total')
}

/** Many clients request a just purged page at the same time, repeatedly. */
export async function missStorm(): Promise<Row[]> {
  const server = await contender(`[cache.l0]\nenabled = false\n\n${adminToml}`).start()
  const agent = new Agent({ keepAlive: true, maxSockets: STORM })
  try {
    await ask(`${server.url}/kept`, { agent, host: HOST })
    const before = await renders(server.url, agent)
    const headers = await bearer('root')
    const tookMs: number[] = []
    for (let storm = 0; storm < STORMS; storm++) {
      await ask(`${server.url}/__svc/admin/api/cache/purge?tag=route:rows:/kept`, { agent, host: HOST, method: 'POST', headers })
      const begunAt = performance.now()
      await Promise.all(Array.from({ length: STORM }, () => ask(`${server.url}/kept`, { agent, host: HOST })))
      tookMs.push(performance.now() - begunAt)
    }
    const perStorm = ((await renders(server.url, agent)) - before) / STORMS
    const middle = tookMs.toSorted((a, b) => a - b)[Math.floor(STORMS / 2)] ?? Number.NaN
    const figures = { clients: String(STORM), 'renders per storm': figure(perStorm), 'ms to the last': figure(middle) }
    return [{ scenario: 'miss storm, 100 rows', server: 'svc', figures }]
  } finally {
    agent.destroy()
    await server.stop()
  }
}
