import type { MessagePort, TransferListItem } from 'node:worker_threads'
import { Piscina } from 'piscina'
import type { RenderTask, ThreadBase } from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import { codeCacheEnvironment } from './code-cache-environment.ts'

/**
 * How long the end of a thread waits for its start. A thread that is ended while Node.js loads an ES module by `require`, as piscina
 * does with the program, aborts the whole process (an assertion in `ModuleWrap::CreateRequiredModuleFacade`).
 */
const MAX_START_MS = 5_000

/** Events of a started thread, for its owner. */
interface ThreadEvents {
  /** It runs; messages go over the port. Told once, in a later turn than the one that asks for it. */
  linked(port: MessagePort): void
  /** It ended by itself or never came up. Told once, not after `close`. */
  ended(error: Error): void
}

/**
 * A render thread that has been started and may not know its site yet: a pool of exactly one. Its owner sends the
 * settings of a site over its port first.
 */
export class StartedThread {
  /** The settings that it was started with. */
  readonly base: ThreadBase
  /** Its number in the process. */
  readonly number: number
  readonly #pool: Piscina
  /** Resolves when the program has been loaded, or never will be. */
  readonly #started = Promise.withResolvers<void>()
  #port: MessagePort | undefined
  #failure: Error | undefined
  #events: ThreadEvents | undefined
  #isClosing = false

  /** @param program URL of the thread's program */
  constructor(program: string, base: ThreadBase) {
    this.base = base
    this.#pool = new Piscina({
      filename: program,
      minThreads: 1,
      maxThreads: 1,
      // Admission is the pool's: a job that ended for the host may not have for piscina.
      concurrentTasksPerWorker: 1_000_000,
      idleTimeout: Number.POSITIVE_INFINITY,
      atomics: 'disabled',
      recordTiming: false,
      workerData: base,
      env: codeCacheEnvironment(),
      trackUnmanagedFds: false,
    })
    this.number = this.#pool.threads[0]?.threadId ?? 0
    this.#pool.on('message', (message: { link: MessagePort }) => this.#linked(message.link))
    this.#pool.on('error', (error: Error) => this.#ended(error))
    // The error that ended it is told after this, in the same turn.
    const lost = () => this.#ended(new RenderError('RENDER_ISOLATE_LOST', 'the render thread has ended'))
    this.#pool.on('workerDestroy', () => queueMicrotask(lost))
  }

  /** True if it runs and waits for its settings only. */
  get isLinked(): boolean {
    return this.#port !== undefined
  }

  /** Tells `events` from now on, also of earlier events. */
  own(events: ThreadEvents): void {
    this.#events = events
    queueMicrotask(() => {
      if (this.#events !== events) return
      if (this.#failure !== undefined) events.ended(this.#failure)
      else if (this.#port !== undefined) events.linked(this.#port)
    })
  }

  /** Runs tasks in the thread; rejects when it ends before they have. */
  async run(tasks: readonly RenderTask[], transferList: TransferListItem[]): Promise<void> {
    await this.#pool.run(tasks, { transferList })
  }

  /** Ends the thread. Does not settle while native code runs in it that does not stop. */
  async close(): Promise<void> {
    this.#isClosing = true
    const limit = setTimeout(this.#started.resolve, MAX_START_MS)
    await this.#started.promise
    clearTimeout(limit)
    await this.#pool.destroy()
    this.#port?.close()
  }

  #linked(port: MessagePort): void {
    this.#port = port
    this.#started.resolve()
    if (!this.#isClosing) this.#events?.linked(port)
  }

  #ended(error: Error): void {
    this.#started.resolve()
    if (this.#isClosing || this.#failure !== undefined) return
    this.#failure = error
    this.#events?.ended(error)
  }
}
