import { execFile } from 'node:child_process'
import { readBounded } from '@svc/core'

/** Output of a program that ran. */
interface ProgramOutput {
  /** Null: a signal ended it. */
  readonly code: number | null
  readonly stdout: string
}

/** The machine as the checks see it. Both functions never reject; undefined: the file or program is not there. */
export interface Machine {
  readonly read: (path: string) => Promise<string | undefined>
  readonly run: (program: string, args: readonly string[], cwd?: string) => Promise<ProgramOutput | undefined>
}

const MAX_BYTES = 1024 * 1024
const TIMEOUT_MS = 4_000

function run(program: string, args: readonly string[], cwd?: string): Promise<ProgramOutput | undefined> {
  return new Promise((resolve) => {
    const options = { timeout: TIMEOUT_MS, killSignal: 'SIGKILL', maxBuffer: MAX_BYTES, encoding: 'utf8', cwd } as const
    const child = execFile(program, args, options, (error, stdout) => {
      if (child.pid === undefined) resolve(undefined)
      else resolve({ code: error === null ? 0 : child.exitCode, stdout })
    })
    child.stdin?.end()
  })
}

/** The machine that this process runs on. */
export const thisMachine: Machine = {
  read: async (path) => {
    const read = await readBounded(path, MAX_BYTES)
    return read.ok ? read.bytes.toString('utf8') : undefined
  },
  run,
}
