// Measures how long a worker's event loop is blocked while it prepares a generation, and how long the first requests wait.
//
//   bin/node --disable-warning=ExperimentalWarning bench/prepare-generation.ts             1,000 vhosts with 12 locations each
//   VHOSTS=5000 LOCATIONS=30 bin/node --disable-warning=ExperimentalWarning bench/prepare-generation.ts
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '@svc/config'
import { systemClock } from '@svc/core'
import { packGeneration, unpackGeneration } from '@svc/protocol'
import { buildGeneration, type ServingGeneration } from '../packages/worker/src/generation/serving-generation.ts'
import { UpstreamHandlers } from '../packages/worker/src/proxying/upstream-handlers.ts'
import { VhostRuntimes } from '../packages/worker/src/vhost/index.ts'
import { ownLimits } from '../packages/worker/test/own-limits.ts'

const VHOSTS = Number(process.env['VHOSTS'] ?? 1_000)
const LOCATIONS = Number(process.env['LOCATIONS'] ?? 12)
const ROUNDS = 5
const LISTEN = '127.0.0.1:9000'

function vhost(number: number, round: number): string {
  const locations = Array.from({ length: LOCATIONS }, (_, at) =>
    at % 3 === 0
      ? `location ~ ^/p${at}/([a-z]+)/(\\d+)$ { rewrite ^/p${at}/(.*)$ /q/$1 break; return 200 "${round} $1 $host"; }`
      : `location /l${at}/ { add_header X-Round "${round}"; proxy_pass http://127.0.0.1:${7_000 + (number % 500)}; proxy_set_header Host $host; }`,
  )
  return `server { listen ${LISTEN}; server_name h${number}.test *.h${number}.test; root /srv/h${number}; ${locations.join('\n')} }`
}

async function load(dir: string, round: number) {
  writeFileSync(join(dir, 'all.conf'), Array.from({ length: VHOSTS }, (_, number) => vhost(number, round)).join('\n'))
  writeFileSync(join(dir, 'svc.config.toml'), '[server]\nvhosts = ["all.conf"]\n')
  const loaded = await loadConfig({ file: 'svc.config.toml', env: {}, cwd: dir, isRoot: false })
  if (!loaded.ok) throw new TypeError(JSON.stringify(loaded.problems.slice(0, 3)))
  const { config, sites, web } = loaded
  const listen = [{ name: LISTEN, host: '127.0.0.1', port: 9_000, engine: 'uws' as const }]
  return packGeneration({
    generation: round,
    config,
    sites,
    listen,
    loopToken: 'token',
    moduleDir: join(dir, 'modules'),
    web,
    tls: {},
  })
}

/** Runs a task; the longest time between two turns of the event loop meanwhile, in milliseconds. */
async function longestBlock(task: () => unknown): Promise<number> {
  let longest = 0
  let last = performance.now()
  let isDone = false
  const look = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (!isDone) setImmediate(look)
  }
  setImmediate(look)
  await task()
  isDone = true
  await new Promise((resolve) => setImmediate(resolve))
  return longest
}

const dir = mkdtempSync(join(tmpdir(), 'bench-prepare-'))
const onProblem = (error: Error) => console.error(error.message)
const passwordThread = new URL('../packages/worker/src/vhost/passwords/thread-main.ts', import.meta.url)
const vhosts = new VhostRuntimes({ passwordThread, limits: ownLimits(systemClock), metrics: async () => '', onProblem })
const upstreams = new UpstreamHandlers(systemClock, { locationCache: () => undefined })
const tools = { renderer: {} as Parameters<typeof buildGeneration>[2]['renderer'], onProblem }
let previous: ServingGeneration | undefined
const known = new Map()
try {
  for (let round = 1; round <= ROUNDS; round++) {
    const packed = await load(dir, round)
    let next: ServingGeneration | undefined
    const rows: Record<string, number> = {}
    let spec: Awaited<ReturnType<typeof unpackGeneration>> | undefined
    rows['unpack'] = await longestBlock(async () => {
      spec = await unpackGeneration(packed, known)
    })
    rows['build'] = await longestBlock(() => {
      if (spec !== undefined) next = buildGeneration(spec, previous, tools)
    })
    if (next === undefined) throw new TypeError('no generation was built')
    const generation = next
    rows['routes'] = await longestBlock(() => generation.prepareRoutes())
    const handlers = upstreams.prepare(generation)
    rows['servers'] = await longestBlock(() => vhosts.prepare(generation, handlers))
    const first = performance.now()
    const match = generation.route(LISTEN, 'h1.test')?.vhost
    if (match !== undefined) vhosts.of(generation).server(match.server)
    rows['first request'] = performance.now() - first
    const second = performance.now()
    for (let number = 2; number < VHOSTS; number++) {
      const found = generation.route(LISTEN, `h${number}.test`)?.vhost
      if (found !== undefined) vhosts.of(generation).server(found.server)
    }
    rows['all others together'] = performance.now() - second
    upstreams.serve(generation)
    previous = generation
    console.log(
      `round ${round}: ${Object.entries(rows)
        .map(([what, ms]) => `${what} ${ms.toFixed(1)} ms`)
        .join(', ')}`,
    )
  }
} finally {
  rmSync(dir, { recursive: true, force: true })
}
