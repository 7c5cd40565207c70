import { spawn } from 'node:child_process'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryOf } from '../lib/process-tree.ts'
import { type ServerProcess, startPinned } from '../lib/server-process.ts'
import { figure, type Row } from '../lib/table.ts'
import { repositoryRoot, startSvc, workDir } from '../peers/svc.ts'
import { writeProxy } from './proxy.ts'

const GIGABYTE = 1 << 30
const MEGABYTE = 1 << 20
const SAMPLE_MS = 50
const RUNS = 3
/** Memory counts as settled when it has changed by less than this for so many samples. */
const SETTLED_BYTES = 300_000
const SETTLED_SAMPLES = 60
const MOST_SAMPLES = 1_200

/** Private memory of a process tree. Excludes program pages that are loaded on first use. */
function privateBytes(root: number): number {
  return memoryOf(root).reduce((sum, process) => sum + process.privateBytes, 0)
}

/** Hosts start after the service is ready: their memory is no growth. */
async function settledBytes(root: number): Promise<number> {
  let settled = 0
  let same = 0
  for (let i = 0; i < MOST_SAMPLES && same < SETTLED_SAMPLES; i++) {
    const bytes = privateBytes(root)
    same = Math.abs(bytes - settled) < SETTLED_BYTES ? same + 1 : 0
    if (same === 0) settled = bytes
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS))
  }
  return settled
}

/** Runs curl; returns its result and the growth of a process tree's memory meanwhile. */
function transfer(root: number, args: readonly string[]): Promise<{ readonly code: number | null; readonly peakBytes: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number | null; peakBytes: number }>()
  let peakBytes = 0
  const timer = setInterval(() => {
    peakBytes = Math.max(peakBytes, privateBytes(root))
  }, SAMPLE_MS)
  const child = spawn('curl', ['-s', '-f', '-o', '/dev/null', ...args], { stdio: 'inherit' })
  child.once('error', reject)
  child.once('exit', (code) => {
    clearInterval(timer)
    resolve({ code, peakBytes })
  })
  return promise
}

async function measure(engine: 'uws' | 'node', upstream: ServerProcess, file: string): Promise<Row[]> {
  const svc = await startSvc(await writeProxy(upstream.url, engine), 2)
  try {
    // Once before, so that the cost of the first request is not counted.
    await transfer(svc.pid, ['-r', '0-0', '--max-filesize', '1', svc.url])
    const idle = await settledBytes(svc.pid)
    const ways: Readonly<Record<string, readonly string[]>> = {
      down: [svc.url],
      'down, client at 100 MB/s': ['--limit-rate', '100M', svc.url],
      up: ['-T', file, `${svc.url}/up`],
      'up, upstream at 100 MB/s': ['-T', file, `${svc.url}/slow`],
    }
    const rows: Row[] = []
    for (const [way, args] of Object.entries(ways)) {
      const figures: Record<string, string> = {}
      const ends: string[] = []
      for (let run = 1; run <= RUNS; run++) {
        const { code, peakBytes } = await transfer(svc.pid, args)
        figures[`MB above idle, run ${run}`] = figure((peakBytes - idle) / MEGABYTE)
        ends.push(code === 0 ? 'whole' : `curl ${code}`)
      }
      rows.push({ scenario: 'proxy, 1 GB', server: `${engine}: ${way}`, figures: { ...figures, ended: ends.join(', ') } })
    }
    return rows
  } finally {
    await svc.stop()
  }
}

/** A gigabyte down and up, also with a slow client or upstream: the memory above the idle service. */
export async function proxyGigabyte(): Promise<Row[]> {
  const upstream = await startPinned(
    {
      command: join(repositoryRoot, 'bin/node'),
      args: ['--disable-warning=ExperimentalWarning', join(repositoryRoot, 'bench/servers/large.ts')],
      ready: (output) => /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0],
    },
    2,
  )
  try {
    const file = join(workDir, 'gigabyte')
    writeFileSync(file, '')
    truncateSync(file, GIGABYTE)
    return [...(await measure('uws', upstream, file)), ...(await measure('node', upstream, file))]
  } finally {
    await upstream.stop()
  }
}
