import { readdirSync, readFileSync } from 'node:fs'

interface ProcessFacts {
  readonly pid: number
  readonly parent: number
}

/** Reads one process from /proc; undefined if it has just ended. */
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

/** Returns a process and all its descendants. */
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

/** Memory of one process, in bytes. */
export interface ProcessMemory {
  readonly pid: number
  /** Its command line, arguments separated by spaces. */
  readonly command: string
  /** Heaps and stacks, which it shares with no other process. */
  readonly privateBytes: number
  /** The same plus its share of common memory (PSS): of programs, libraries and mapped stores. */
  readonly shareBytes: number
}

/** Returns the memory of one process; undefined if it has just ended or its maps may not be read. */
function readMemory(pid: number): ProcessMemory | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
    const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').join(' ').trim()
    const bytesOf = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024
    return { pid, command, privateBytes: bytesOf('Anonymous'), shareBytes: bytesOf('Pss') }
  } catch {
    return undefined
  }
}

/** Returns the memory of a process and of each descendant. */
export function memoryOf(root: number): ProcessMemory[] {
  return treeOf(root).flatMap((pid) => readMemory(pid) ?? [])
}

/** Returns the memory of a whole process tree, in bytes: shared memory counts once. */
export function memoryBytes(root: number): number {
  return memoryOf(root).reduce((sum, { shareBytes }) => sum + shareBytes, 0)
}
