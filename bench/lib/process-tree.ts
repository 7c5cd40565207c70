import { readdirSync, readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100
const PAGE_BYTES = 4096

interface ProcessFacts {
  readonly pid: number
  readonly parent: number
  readonly cpuTicks: number
}

/** Reads one process from /proc, or undefined when it has just ended. */
function readProcess(pid: number): ProcessFacts | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in parentheses may hold spaces: fields are counted from behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { pid, parent: Number(fields[1]), cpuTicks: Number(fields[11]) + Number(fields[12]) }
  } catch {
    return undefined
  }
}

/** A process and all that descend from it. */
export function treeOf(root: number): number[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? [])
  const tree = [root]
  for (let i = 0; i < tree.length; i++) for (const entry of all) if (entry.parent === tree[i]) tree.push(entry.pid)
  return tree
}

/** CPU seconds spent so far by a process and its descendants. */
export function cpuSeconds(root: number): number {
  return treeOf(root).reduce((sum, pid) => sum + (readProcess(pid)?.cpuTicks ?? 0), 0) / TICKS_PER_SECOND
}

/** Memory that belongs to the processes of a tree alone plus their share of what is common (PSS), in bytes. */
export function memoryBytes(root: number): number {
  return treeOf(root).reduce((sum, pid) => {
    try {
      const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
      return sum + Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024
    } catch {
      const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1] ?? 0)
      return sum + pages * PAGE_BYTES
    }
  }, 0)
}
