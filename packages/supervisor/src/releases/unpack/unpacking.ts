import { type ChildProcess, fork } from 'node:child_process'
import type { FileHandle } from 'node:fs/promises'
import { CHILD_FLAGS, Gate, guard, messageOf, withDeadline } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { UnpackRequest } from './unpack-release.ts'

const LIMIT_MS = 240_000
const MAX_FILES = 100_000
const EXEC_ARGV = [...CHILD_FLAGS, '--max-old-space-size=256']
const reply = guard.object({ sha256: guard.optional(guard.string), problem: guard.optional(guard.string) })

interface Unpacked extends Pick<UnpackRequest, 'directory' | 'maxBytes'> {
  readonly source: Pick<UnpackRequest, 'kind'> & { readonly path: string; readonly handle: Pick<FileHandle, 'fd'> }
}

/** Unpacks archives and copies directories, one at a time, each in a process of its own. */
export class Unpacking {
  readonly #program: string
  readonly #gate = new Gate(1)
  #running: ChildProcess | undefined
  #isClosed = false

  /** @param program absolute path of the program that unpacks */
  constructor(program: string) {
    this.#program = program
  }

  /** Resolves with the SHA-256 of an archive. After a rejection some of it may be there. @throws SOURCE_INVALID */
  unpack(request: Unpacked): Promise<string | undefined> {
    return this.#gate.run(async () => {
      const { sha256, problem } = await this.#ask(request).catch((error) => ({ sha256: undefined, problem: messageOf(error) }))
      if (problem === undefined) return sha256
      const { path, kind } = request.source
      throw new SupervisorError('SOURCE_INVALID', `${path} cannot be ${kind === 'archive' ? 'unpacked' : 'copied'}: ${problem}`)
    })
  }

  /** Aborts the one in progress. */
  close(): void {
    this.#isClosed = true
    this.#running?.kill('SIGKILL')
  }

  async #ask({ source: { kind, handle }, directory, maxBytes }: Unpacked): Promise<ReturnType<typeof reply>> {
    if (this.#isClosed) throw new SupervisorError('SUP_STOPPED', 'the server is stopping')
    const child = fork(this.#program, [], {
      env: {},
      execArgv: EXEC_ARGV,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc', handle.fd],
    })
    this.#running = child
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    child.once('message', resolve)
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new SupervisorError('SUP_STOPPED', `its process ended (${signal ?? code})`)))
    child.send({ kind, directory, maxBytes, maxFiles: MAX_FILES }, (error) => {
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
