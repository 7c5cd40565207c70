import { type ChildProcess, fork } from 'node:child_process'
import { Gate, guard, messageOf, withDeadline } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { UnpackRequest } from './unpack-archive.ts'

const LIMIT_MS = 240_000
const MAX_FILES = 100_000
const EXEC_ARGV = ['--disable-warning=ExperimentalWarning', '--max-old-space-size=256']
const reply = guard.object({ sha256: guard.optional(guard.string), problem: guard.optional(guard.string) })

/** Unpacks archives, one at a time, each in a process of its own. */
export class Unpacking {
  readonly #program: string
  readonly #gate = new Gate(1)
  #running: ChildProcess | undefined
  #isClosed = false

  /** @param program absolute path of the program that unpacks */
  constructor(program: string) {
    this.#program = program
  }

  /** Resolves with the SHA-256 of the archive. After a rejection some of it may be there. @throws SOURCE_INVALID */
  unpack(request: Omit<UnpackRequest, 'maxFiles'>): Promise<string> {
    return this.#gate.run(async () => {
      const { sha256, problem } = await this.#ask({ ...request, maxFiles: MAX_FILES }).catch((error) => {
        return { sha256: undefined, problem: messageOf(error) }
      })
      if (sha256 !== undefined) return sha256
      throw new SupervisorError('SOURCE_INVALID', `${request.archive} cannot be unpacked: ${problem ?? 'unknown reason'}`)
    })
  }

  /** Aborts the one in progress. */
  close(): void {
    this.#isClosed = true
    this.#running?.kill('SIGKILL')
  }

  async #ask(request: UnpackRequest): Promise<ReturnType<typeof reply>> {
    if (this.#isClosed) throw new SupervisorError('SUP_STOPPED', 'the server is stopping')
    const child = fork(this.#program, [], { env: {}, execArgv: EXEC_ARGV, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
    this.#running = child
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    child.once('message', resolve)
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new SupervisorError('SUP_STOPPED', `its process ended (${signal ?? code})`)))
    child.send(request, (error) => {
      if (error !== null) reject(error)
    })
    try {
      return reply(await withDeadline(promise, LIMIT_MS, 'unpacking'), 'reply')
    } finally {
      child.kill('SIGKILL')
      // The caller deletes what it has written: it must write no more.
      if (child.pid !== undefined) await exited
      this.#running = undefined
    }
  }
}
