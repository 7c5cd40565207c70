import { readdirSync } from 'node:fs'
import { addMeasured } from './families.ts'
import type { MetricSet } from './metric-set.ts'

const MICROSECONDS = 1_000_000

/** Open descriptors of this process, or 0 where the system does not say. */
function openDescriptors(): number {
  try {
    // The directory that is being read is itself one of them.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    // No /proc on this system: the metric stays at 0.
    return 0
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / MICROSECONDS
}

/** Adds the `process_*` metrics that every process reports: their sum is the instance's. */
export function addProcessMetrics(metrics: MetricSet): void {
  const memory = ['process_resident_memory_bytes', 'Resident memory of all processes.'] as const
  addMeasured(metrics, 'gauge', memory, () => process.memoryUsage.rss())
  addMeasured(metrics, 'counter', ['process_cpu_seconds_total', 'User and system time spent by all processes.'], cpuSeconds)
  addMeasured(metrics, 'gauge', ['process_open_fds', 'Open file descriptors of all processes.'], openDescriptors)
}

/** Adds `process_uptime_seconds`; only the master reports it. */
export function addUptimeMetric(metrics: MetricSet): void {
  addMeasured(metrics, 'gauge', ['process_uptime_seconds', 'Time since the master was started.'], () => process.uptime())
}

/** Adds the count of lines that a log of this process has lost. */
export function addLogMetrics(metrics: MetricSet, read: () => number): void {
  const help = 'Log lines dropped because their reader was too slow or away, or a disk full.'
  addMeasured(metrics, 'counter', ['svc_log_lines_dropped_total', help], read)
}
