import { memoryOf } from '../../bench/lib/process-tree.ts'
import { collectGarbage } from './collect-garbage.ts'

/** Roles of a server's processes. */
type Role = 'master' | 'worker' | 'render host' | 'scan process'

const ROLES: readonly Role[] = ['master', 'worker', 'render host', 'scan process']
const MEGABYTE = 1024 * 1024
/** Part of a run in which code is compiled and caches fill. */
const WARM_UP = 0.25
/** In a shorter run the heaps are still finding their size. */
const LEAST_MS = 240_000
/**
 * Growth of the median over half of a run that is allowed: a process with 13 MB of live objects lets its heap grow to four times as much
 * before it collects them, some minutes apart.
 */
const GROWTH_BYTES = 32 * MEGABYTE

/** Memory of a server that has come to rest. */
export type Settled = Pick<Sample, 'roles' | 'workers'>

/** Memory at one moment, in bytes. */
interface Sample {
  /** Milliseconds of the wall clock. */
  readonly at: number
  /** The largest process of each role: one that has just begun says nothing. Private memory alone. */
  readonly roles: Readonly<Record<Role, number>>
  /** Pids of the workers. */
  readonly workers: readonly number[]
  /** All processes, what they share counted once. */
  readonly all: number
}

function roleOf(command: string): Role {
  if (/\bworker\.js\b/.test(command)) return 'worker'
  if (/\bsite-scan\.js\b/.test(command)) return 'scan process'
  return /\brender-host\.js\b/.test(command) ? 'render host' : 'master'
}

function middleOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

export const megabytes = (bytes: number) => Math.round(bytes / MEGABYTE)

/** Watches the memory of a server: that of each role must be as high at the end of a run as it was after the beginning. */
export class MemoryWatch {
  readonly #root: number
  readonly #samples: Sample[] = []

  /** @param root the master's pid */
  constructor(root: number) {
    this.#root = root
  }

  /** Takes a sample and says what it shows. */
  take(): string {
    const sample = this.#sample()
    this.#samples.push(sample)
    const parts = ROLES.map((role) => `${role} ${megabytes(sample.roles[role])}`)
    return `${megabytes(sample.all)} MB, of it private: ${parts.join(', ')}`
  }

  /** The memory of a server without load, its garbage collected. */
  async settled(): Promise<Settled> {
    for (const { pid, command } of memoryOf(this.#root)) if (/^(master|worker)$/.test(roleOf(command))) await collectGarbage(pid)
    return this.#sample()
  }

  #sample(): Sample {
    const processes = memoryOf(this.#root).map((memory) => ({ ...memory, role: roleOf(memory.command) }))
    const largest = (role: Role) =>
      Math.max(0, ...processes.filter((process) => process.role === role).map(({ privateBytes }) => privateBytes))
    return {
      at: Date.now(),
      roles: {
        master: largest('master'),
        worker: largest('worker'),
        'render host': largest('render host'),
        'scan process': largest('scan process'),
      },
      workers: processes.flatMap(({ role, pid }) => (role === 'worker' ? [pid] : [])),
      all: processes.reduce((sum, { shareBytes }) => sum + shareBytes, 0),
    }
  }

  /** Lists the roles that grew from the first third after the warm-up to the last third, one line each; none when the run was too short. */
  growth(): string[] {
    return this.#compared().flatMap(({ role, early, late }) =>
      late > early + GROWTH_BYTES ? [`the memory of the ${role} grew from ${megabytes(early)} to ${megabytes(late)} MB`] : [],
    )
  }

  /** Medians of the first third after the warm-up and of the last one, for each role. */
  summary(): string {
    const parts = this.#compared().map(({ role, early, late }) => `${role} ${megabytes(early)} -> ${megabytes(late)} MB`)
    return parts.length === 0 ? 'too short to judge memory' : parts.join(', ')
  }

  #compared(): { readonly role: Role; readonly early: number; readonly late: number }[] {
    const lastedMs = (this.#samples.at(-1)?.at ?? 0) - (this.#samples[0]?.at ?? 0)
    if (lastedMs < LEAST_MS) return []
    const warm = this.#samples.slice(Math.floor(this.#samples.length * WARM_UP))
    const third = Math.floor(warm.length / 3)
    const middle = (role: Role, samples: readonly Sample[]) => middleOf(samples.map(({ roles }) => roles[role]))
    return ROLES.map((role) => ({ role, early: middle(role, warm.slice(0, third)), late: middle(role, warm.slice(-third)) }))
  }
}
