import { type LoadOptions, type Measurement, measure, statusOf, warmUp } from './load.ts'
import type { ServerProcess } from './server-process.ts'
import { figure, type Row } from './table.ts'

/** A server to load, and the host name of the requests. */
export interface Contender {
  readonly name: string
  readonly host?: string
  start(): Promise<ServerProcess>
}

export interface Comparison {
  readonly scenario: string
  readonly path: string
  /** Loaded before `path` during the warm-up: runs the same code many times faster. */
  readonly lightPath?: string
  readonly headers?: readonly string[]
  /** Expected status of every server. @default 200 */
  readonly status?: number
  readonly contenders: readonly Contender[]
  readonly seconds: number
  readonly connections: number
}

/** On a busy machine many short rounds say more than a few long ones. */
const ROUNDS = Number(process.env.ROUNDS ?? 3)

/** A started contender with the results of its rounds. */
interface Running {
  readonly name: string
  readonly server: ServerProcess
  readonly load: LoadOptions
  readonly warmUps: readonly LoadOptions[]
  readonly rounds: Measurement[]
}

async function start(contender: Contender, options: Comparison): Promise<Running> {
  const server = await contender.start()
  const { seconds, connections, path, lightPath, headers = [] } = options
  const host = contender.host === undefined ? {} : { host: contender.host }
  const load = { url: server.url + path, serverPid: server.pid, seconds, connections, headers, ...host }
  const warmUps = lightPath === undefined ? [load] : [{ ...load, url: server.url + lightPath }, load]
  return { name: contender.name, server, load, warmUps, rounds: [] }
}

/** Checks that a warm server sends the expected response. */
async function verify({ name, load }: Running, wanted: number): Promise<void> {
  const status = await statusOf(load)
  if (status !== wanted) throw new Error(`${name} answers ${status} instead of ${wanted}`)
}

/** The middle one by a number. */
function middle<Item>(items: readonly Item[], numberOf: (item: Item) => number): Item | undefined {
  const sorted = items.toSorted((a, b) => numberOf(a) - numberOf(b))
  return sorted[Math.floor(sorted.length / 2)]
}

/** How many times as many requests one contender answers for the same CPU time: in the middle of the rounds, each against its neighbour. */
function timesAsMany(own: readonly Measurement[], other: readonly Measurement[]): string {
  const ratios = own.map(({ requestsPerCpuSecond }, i) => requestsPerCpuSecond / (other[i]?.requestsPerCpuSecond ?? Number.NaN))
  return `${figure(middle(ratios, (ratio) => ratio) ?? Number.NaN)} x`
}

/** Measures the contenders in turn, round by round: the speed of a shared machine drifts, which then affects all of them alike. */
async function measureInTurn(running: readonly Running[], { scenario, status = 200 }: Comparison): Promise<void> {
  for (const { warmUps } of running) for (const load of warmUps) await warmUp(load)
  for (const one of running) await verify(one, status)
  for (let round = 1; round <= ROUNDS; round++) {
    for (const { name, load, rounds } of running) {
      process.stderr.write(`  ${scenario}: round ${round} of ${ROUNDS}, ${name}\n`)
      rounds.push(await measure(load))
    }
  }
}

/** Compares contenders; ratios are against the first, which is this server. */
export async function compare(options: Comparison): Promise<Row[]> {
  const running: Running[] = []
  try {
    for (const contender of options.contenders) running.push(await start(contender, options))
    await measureInTurn(running, options)
  } finally {
    await Promise.all(running.map(({ server }) => server.stop()))
  }
  const own = running[0]?.rounds ?? []
  return running.flatMap(({ name, rounds }) => {
    const result = middle(rounds, ({ requestsPerCpuSecond }) => requestsPerCpuSecond)
    if (result === undefined) return []
    const figures = {
      'requests/s': figure(result.requestsPerSecond),
      'requests/CPU-s': figure(result.requestsPerCpuSecond),
      'svc is': rounds === own ? '' : timesAsMany(own, rounds),
      'p99 ms': figure(result.p99Ms),
      errors: String(rounds.reduce((sum, round) => sum + round.errors, 0)),
    }
    return [{ scenario: options.scenario, server: name, figures }]
  })
}
