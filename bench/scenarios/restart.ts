import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { adminToml, bearer } from '../../packages/auth/test/admin-users.ts'
import { ask } from '../lib/ask.ts'
import { figure, type Row } from '../lib/table.ts'
import { TimedClients, type TimedRequest } from '../lib/timed-clients.ts'
import { timingOf } from '../lib/timing.ts'
import { rowsSite, startSvc, writeConfig } from '../peers/svc.ts'

const HOST = 'rows.localhost'
const CLIENTS = 8
const WARM_UP_MS = 8_000
const ROUNDS = 8
/** A page is slow for a while after the event too: code that has just started to run is not optimized. */
const AFTERMATH_MS = 1_000
/** Pause between two events, so that they do not overlap. */
const REST_MS = 2_000

/** A span of time, in milliseconds of `performance.now()`. */
interface Span {
  readonly from: number
  readonly to: number
}

const events = {
  'workers/restart': '/__svc/admin/api/workers/restart?wait=1',
  'isolate flush': '/__svc/api/sites/rows/isolate/flush',
} as const

const overlaps = ({ startedAt, tookMs }: TimedRequest, { from, to }: Span) => startedAt < to && startedAt + tookMs > from

function rowOf(name: string, requests: readonly TimedRequest[], usualP99Ms: number, eventMs?: number): Row {
  const { medianMs, p99Ms } = timingOf(requests.map(({ tookMs }) => tookMs))
  const longest = Math.max(...requests.map(({ tookMs }) => tookMs))
  const figures = {
    requests: figure(requests.length),
    failed: String(requests.filter(({ hasFailed }) => hasFailed).length),
    'median ms': figure(medianMs),
    'p99 ms': figure(p99Ms),
    'of the usual p99': `${figure(p99Ms / usualP99Ms)} x`,
    'longest ms': figure(longest),
    'event takes ms': eventMs === undefined ? '' : figure(eventMs),
  }
  return { scenario: `uncached page, 100 rows, ${CLIENTS} clients, while renderers are replaced`, server: name, figures }
}

/** A page that is rendered at each request: as usual, while all render hosts are replaced, and while isolates are. */
export async function pageWhileReplaced(): Promise<Row[]> {
  const server = await startSvc(writeConfig('restart', [{ id: 'rows', root: rowsSite }], adminToml), 2)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const spans = new Map<string, Span[]>()
  const clients = new TimedClients(CLIENTS, `${server.url}/`, HOST)
  try {
    await pause(WARM_UP_MS)
    const begunAt = performance.now()
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, path] of Object.entries(events)) {
        await pause(REST_MS)
        const from = performance.now()
        await ask(server.url + path, { agent, method: 'POST', headers: await bearer('root') })
        spans.set(name, [...(spans.get(name) ?? []), { from, to: performance.now() }])
        await pause(AFTERMATH_MS)
      }
    }
    await clients.stop()
    for (const failure of clients.failures) process.stderr.write(`  ${failure}\n`)
    return rowsOf(
      clients.requests.filter(({ startedAt }) => startedAt >= begunAt),
      spans,
    )
  } finally {
    agent.destroy()
    await server.stop()
  }
}

function rowsOf(requests: readonly TimedRequest[], spans: ReadonlyMap<string, readonly Span[]>): Row[] {
  const withAftermath = ({ from, to }: Span) => ({ from, to: to + AFTERMATH_MS })
  const all = [...spans.values()].flat().map(withAftermath)
  const usual = requests.filter((request) => !all.some((span) => overlaps(request, span)))
  const usualP99Ms = timingOf(usual.map(({ tookMs }) => tookMs)).p99Ms
  const rows = Array.from(spans, ([name, events]) => {
    const during = requests.filter((request) => events.some((span) => overlaps(request, withAftermath(span))))
    return rowOf(name, during, usualP99Ms, timingOf(events.map(({ from, to }) => to - from)).medianMs)
  })
  return [rowOf('as usual', usual, usualP99Ms), ...rows]
}
