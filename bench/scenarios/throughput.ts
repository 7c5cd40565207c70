import { join } from 'node:path'
import { type LoadOptions, type Measurement, measure, warmUp } from '../lib/load.ts'
import type { ServerProcess } from '../lib/server-process.ts'
import { figure, type Row } from '../lib/table.ts'
import { startBareServer } from '../peers/bare.ts'
import { hasNext, startNext } from '../peers/next.ts'
import { hasNginx, startNginx } from '../peers/nginx.ts'
import { rowsSite, startSvc, writeConfig } from '../peers/svc.ts'

/** A server to load, and the host name to ask it for. */
interface Contender {
  readonly name: string
  readonly host?: string
  start(): Promise<ServerProcess>
}

interface Throughput {
  readonly scenario: string
  readonly path: string
  readonly contenders: readonly Contender[]
  readonly seconds: number
  readonly connections: number
}

const CONNECTIONS = 32
const ROUNDS = 3

function svc(): Contender {
  return {
    name: 'svc',
    host: 'rows.localhost',
    start: () => startSvc(writeConfig('throughput', [{ id: 'rows', root: rowsSite }])),
  }
}

/** A contender that has been started, and what its rounds measured. */
interface Running {
  readonly name: string
  readonly server: ServerProcess
  readonly load: LoadOptions
  readonly rounds: Measurement[]
}

async function start(contender: Contender, options: Throughput): Promise<Running> {
  const server = await contender.start()
  const { seconds, connections, path } = options
  const host = contender.host === undefined ? {} : { host: contender.host }
  return {
    name: contender.name,
    server,
    load: { url: server.url + path, serverPid: server.pid, seconds, connections, ...host },
    rounds: [],
  }
}

/** The middle round by requests per CPU-second. */
function middle(rounds: readonly Measurement[]): Measurement | undefined {
  const sorted = rounds.toSorted((a, b) => a.requestsPerCpuSecond - b.requestsPerCpuSecond)
  return sorted[Math.floor(sorted.length / 2)]
}

/** Measures the contenders in turn, round by round: the speed of a shared machine drifts, and so meets all of them alike. */
async function measureInTurn(running: readonly Running[], scenario: string): Promise<void> {
  for (const { load } of running) await warmUp(load)
  for (let round = 1; round <= ROUNDS; round++) {
    for (const { name, load, rounds } of running) {
      process.stderr.write(`  ${scenario}: round ${round} of ${ROUNDS}, ${name}\n`)
      rounds.push(await measure(load))
    }
  }
}

/** Compares contenders; ratios are against the first, which is this server. */
async function compare(options: Throughput): Promise<Row[]> {
  const running: Running[] = []
  try {
    for (const contender of options.contenders) running.push(await start(contender, options))
    await measureInTurn(running, options.scenario)
  } finally {
    await Promise.all(running.map(({ server }) => server.stop()))
  }
  const own = middle(running[0]?.rounds ?? [])
  return running.flatMap(({ name, rounds }) => {
    const result = middle(rounds)
    if (result === undefined || own === undefined) return []
    const figures = {
      'requests/s': figure(result.requestsPerSecond),
      'requests/CPU-s': figure(result.requestsPerCpuSecond),
      'svc is': result === own ? '' : `${figure(own.requestsPerCpuSecond / result.requestsPerCpuSecond)} x`,
      'p99 ms': figure(result.p99Ms),
      errors: String(rounds.reduce((sum, round) => sum + round.errors, 0)),
    }
    return [{ scenario: options.scenario, server: name, figures }]
  })
}

/** A static file of 10 KB: this server, bare engines, nginx. */
export function staticFile(seconds: number): Promise<Row[]> {
  const file = join(rowsSite, 'public/static.html')
  const type = 'text/html; charset=utf-8'
  const contenders: Contender[] = [
    svc(),
    { name: 'raw uWebSockets.js', start: () => startBareServer('uws', file, type) },
    { name: 'node:http', start: () => startBareServer('node-http', file, type) },
  ]
  if (hasNginx) contenders.push({ name: 'nginx', start: () => startNginx(join(rowsSite, 'public')) })
  return compare({ scenario: 'static file, 10 KB', path: '/static.html', contenders, seconds, connections: CONNECTIONS })
}

function page(scenario: string, path: string, seconds: number): Promise<Row[]> {
  const contenders: Contender[] = [svc()]
  if (hasNext) contenders.push({ name: 'next start', start: startNext })
  return compare({ scenario, path, contenders, seconds, connections: CONNECTIONS })
}

export const page100 = (seconds: number): Promise<Row[]> => page('rendered page, 100 rows, uncached', '/', seconds)
export const page1000 = (seconds: number): Promise<Row[]> => page('rendered page, 1000 rows, uncached', '/big', seconds)
export const pageStreaming = (seconds: number): Promise<Row[]> => page('rendered page, streaming', '/stream', seconds)
