import { Worker } from 'node:worker_threads'
import { WorkerError } from '../../errors/errors.ts'
import type { SlowChecker } from './password-check.ts'

interface Waiting {
  resolve(isRight: boolean): void
  reject(error: Error): void
}

/** Checks slow passwords in a thread of its own, one after the other, so that no other request waits for them. */
export class PasswordThread implements SlowChecker {
  readonly #program: URL
  readonly #waiting = new Map<number, Waiting>()
  #thread: Worker | undefined
  #lastId = 0

  /** @param program of the thread; it is started with the first check */
  constructor(program: URL) {
    this.#program = program
  }

  /** @throws WORKER_PASSWORD_THREAD when the thread ended before it had a result */
  check(password: Uint8Array, stored: string): Promise<boolean> {
    this.#thread ??= this.#start()
    const thread = this.#thread
    const id = ++this.#lastId
    thread.ref()
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      thread.postMessage({ id, password, stored })
    })
  }

  async close(): Promise<void> {
    await this.#thread?.terminate()
  }

  #start(): Worker {
    const thread = new Worker(this.#program, { stdin: false })
    thread.on('message', ({ id, isRight }: { id: number; isRight: boolean }) => {
      this.#waiting.get(id)?.resolve(isRight)
      this.#waiting.delete(id)
      // Nothing that waits keeps a process from its end.
      if (this.#waiting.size === 0) thread.unref()
    })
    thread.on('error', (error) => this.#ended(error))
    thread.on('exit', () => this.#ended(undefined))
    return thread
  }

  #ended(cause: unknown): void {
    this.#thread = undefined
    for (const { reject } of this.#waiting.values()) {
      reject(new WorkerError('WORKER_PASSWORD_THREAD', 'the thread that checks passwords ended', { cause }))
    }
    this.#waiting.clear()
  }
}
