import { readFile } from 'node:fs/promises'
import { codeOf, withDeadline } from '@svc/core'
import type { SummaryQuery, SummaryReport } from '@svc/protocol'
import { TrafficTotals } from '@svc/telemetry'
import { latenciesOf } from '../analytics/report.ts'
import { diskSpaces } from './instance-health.ts'
import type { MasterParts } from './parts.ts'
import { type StatusParts, statusOf } from './status.ts'

/** Time for a file system to answer. */
const MEASURE_MS = 1_000
const KIB = 1024

/** The parts of a master that a summary is about. */
type SummaryParts = StatusParts & Pick<MasterParts, 'analytics'>

type Instance = NonNullable<SummaryReport['instance']>

/** Summarises the state of the instance, or of some sites. It asks no other process: none can hold it up. */
export async function summaryOf(parts: SummaryParts, { sites }: SummaryQuery): Promise<SummaryReport> {
  const { version, generation, uptime_secs, ...status } = statusOf(parts)
  const wanted = sites && new Set(sites)
  const shown = status.sites.filter(({ id }) => wanted?.has(id) !== false)
  const summary = {
    at: new Date(parts.clock.now()).toISOString(),
    version,
    generation,
    uptime_secs,
    traffic: trafficOf(parts, new Set(shown.map(({ id }) => id))),
    sites: countStates(shown),
  }
  return wanted === undefined ? { ...summary, instance: await instanceOf(parts, status) } : summary
}

function countStates(things: readonly { readonly state: string }[]): SummaryReport['sites'] {
  const states: Record<string, number> = {}
  for (const { state } of things) states[state] = (states[state] ?? 0) + 1
  return { total: things.length, states }
}

function trafficOf({ analytics }: SummaryParts, wanted: ReadonlySet<string>): SummaryReport['traffic'] {
  const sum = new TrafficTotals()
  for (const [site, totals] of analytics.lastMinute()) if (wanted.has(site)) sum.add(totals)
  let recent = 0
  for (const [site, requests] of analytics.lastSeconds()) if (wanted.has(site)) recent += requests
  const reads = sum.hits('l0') + sum.hits('isr') + sum.hits('proxy') + sum.misses
  const share = (count: number, total: number) => Math.round((count / total) * 10_000) / 10_000
  return {
    requests_per_sec: { last_minute: Math.round((sum.requests / 60) * 100) / 100, last_10_secs: recent / 10 },
    error_ratio: sum.requests === 0 ? null : share(sum.status(5), sum.requests),
    ...latenciesOf(sum.latency),
    hit_ratio:
      reads === 0
        ? null
        : { l0: share(sum.hits('l0'), reads), isr: share(sum.hits('isr'), reads), proxy: share(sum.hits('proxy'), reads) },
  }
}

async function instanceOf(
  { spec }: SummaryParts,
  { pid, workers, hosts, last_reload: reload }: Pick<ReturnType<typeof statusOf>, 'pid' | 'workers' | 'hosts' | 'last_reload'>,
): Promise<Instance> {
  const missing: string[] = []
  const measured = async <Value>(name: string, measure: Promise<Value>, otherwise: Value): Promise<Value> => {
    try {
      return await withDeadline(measure, MEASURE_MS, name)
    } catch {
      missing.push(name)
      return otherwise
    }
  }
  const pids = [pid, ...workers.map((worker) => worker.pid), ...hosts.map((host) => host.pid)].filter((one) => one > 0)
  const [spaces, resident] = await Promise.all([
    measured('disks', diskSpaces(spec().config), []),
    measured('memory', Promise.all(pids.map(residentBytes)), []),
  ])
  return {
    workers: countStates(workers),
    hosts: countStates(hosts),
    last_reload: reload && { at: reload.at, ok: reload.ok },
    disks: spaces.map(({ path, freeRatio }) => ({ path, free_ratio: Math.round(freeRatio * 10_000) / 10_000 })),
    memory: {
      resident_bytes: resident.reduce((sum, bytes) => sum + bytes, 0),
      available_bytes: process.availableMemory(),
    },
    missing,
  }
}

/** Resident memory of a process, as the kernel has it: a process that hangs has some, too. */
async function residentBytes(pid: number): Promise<number> {
  try {
    const [, kib = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
    return Number(kib) * KIB
  } catch (error) {
    // It has just ended.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ESRCH') return 0
    throw error
  }
}
