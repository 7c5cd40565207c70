// Measures the renders per second of one render host, called over its unix socket as a worker does.
//
//   node scripts/build.mjs && bin/node bench/render-host.ts [seconds] [concurrency] [path]
import { existsSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { HostProcess } from '../packages/render/test/host-process.ts'
import { cpuSeconds } from './lib/process-tree.ts'
import { figure, formatTable } from './lib/table.ts'

const [seconds = 5, concurrency = 32] = process.argv.slice(2, 4).map(Number)
const path = process.argv[4] ?? '/'
const bundled = fileURLToPath(new URL('../dist/render-host.js', import.meta.url))
const root = fileURLToPath(new URL('./sites/rows', import.meta.url))

/** Keeps `concurrency` renders in flight for a time; returns the duration of each, in milliseconds. */
async function load(host: HostProcess, forMs: number): Promise<number[]> {
  const request = await host.request('rows', path)
  const tookMs: number[] = []
  const endAt = performance.now() + forMs
  const client = async () => {
    while (performance.now() < endAt) {
      const startedAt = performance.now()
      await host.worker.call('render', request, { timeoutMs: 30_000 })
      tookMs.push(performance.now() - startedAt)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, client))
  return tookMs
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

async function main(): Promise<void> {
  const cleanups: (() => unknown)[] = []
  const after = ((task: () => unknown) => cleanups.push(task)) as TestContext['after']
  try {
    const host = await HostProcess.start(
      { after },
      {
        ...(existsSync(bundled) ? { program: bundled } : {}),
        render: { workers: 1, concurrency: 64, queue_max: 10_000, memory_limit_mb: 128 },
        sites: [{ id: 'rows', root }],
      },
    )
    await load(host, 2_000)
    const pid = host.child.pid ?? 0
    const cpuBefore = cpuSeconds(pid)
    const startedAt = performance.now()
    const tookMs = (await load(host, seconds * 1_000)).sort((a, b) => a - b)
    const elapsed = (performance.now() - startedAt) / 1_000
    const cpu = cpuSeconds(pid) - cpuBefore
    const figures = {
      'renders/s': figure(tookMs.length / elapsed),
      'host CPU µs/render': figure((cpu / tookMs.length) * 1e6),
      'renders per CPU second': figure(tookMs.length / cpu),
      'p50 ms': figure(percentile(tookMs, 0.5)),
      'p99 ms': figure(percentile(tookMs, 0.99)),
      'body bytes': figure((await host.render('rows', path)).text.length),
    }
    host.master.close()
    await host.exited
    console.log(formatTable([{ scenario: `render host, ${path}, ${concurrency} at once`, server: 'host', figures }]))
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }
}

await main()
