import { readdirSync, readFileSync } from 'node:fs'

const PAGE_BYTES = 4096

interface ProcessFacts {
  readonly pid: number
  readonly parent: number
}

/** Reads one process from /proc, or undefined when it has just ended. */
function readProcess(pid: number): ProcessFacts | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in parentheses may hold spaces: fields are counted from behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { pid, parent: Number(fields[1]) }
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

/** Nanoseconds that one thread has run. */
function threadNanoseconds(pid: number, thread: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0])
  } catch {
    // It has just ended.
    return 0
  }
}

/** CPU seconds spent so far by the threads of a process and its descendants, far more exact than the ticks of `stat`. */
export function cpuSeconds(root: number): number {
  const nanoseconds = treeOf(root).flatMap((pid) =>
    readdirSync(`/proc/${pid}/task`).map((thread) => threadNanoseconds(pid, thread)),
  )
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e9
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
