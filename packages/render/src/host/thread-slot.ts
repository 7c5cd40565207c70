import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { fromWire, TransientMap, withDeadline } from '@svc/core'
import type {
  BodyPiece,
  HostToThread,
  LogOrigin,
  LossReason,
  RenderResult,
  RenderTask,
  StreamPart,
  ThreadSettings,
  ThreadToHost,
} from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import { transferable } from '../thread/thread-link.ts'
import { IsolateRecord } from './isolate-record.ts'
import type { StartedThread } from './started-thread.ts'

/** How long a thread may take to end its isolate before it is ended itself. */
const CLOSE_TIMEOUT_MS = 2_000
/** How much later than the thread's own deadline a result may come before the thread counts as stuck. */
const GRACE_MS = 5_000

/** One request on its way through a thread: where its messages go. */
export interface ThreadJob {
  readonly task: RenderTask
  /** When the thread itself should have timed out, on the clock of `performance.now()`; infinite once it is streamed. */
  readonly deadlineAt: number
  result(result: RenderResult): void
  head(head: string, body: BodyPiece | undefined): void
  chunk(body: BodyPiece): void
  end(facts: string, renderMs: number, body: BodyPiece | undefined): void
  wantBody(): void
  bodyTaken(byteCount: number): void
  fail(error: Error): void
}

/** Events of a slot, for its pool. */
interface SlotEvents {
  ready(slot: ThreadSlot): void
  /** A job has ended: there is room. */
  released(slot: ThreadSlot): void
  /** The thread ended by itself or never came up. Its jobs have failed. */
  died(slot: ThreadSlot, error: Error): void
  lost(reason: LossReason): void
  stuck(reason: LossReason): void
  log(level: string, origin: LogOrigin, text: string): void
  /** The thread calls its host on this port (`siteServiceMethods`), as long as it runs. */
  serve(port: MessagePort): void
}

/** How a slot's thread is made. */
interface SlotOptions {
  /** The slot's own from now on. */
  readonly thread: StartedThread
  readonly settings: ThreadSettings
  readonly concurrency: number
  readonly events: SlotEvents
}

/**
 * One render thread of a site. It and the pool of the site distribute requests, and start and end threads: piscina itself would let
 * requests wait for a thread that starts while another has room.
 */
export class ThreadSlot {
  readonly record: IsolateRecord
  readonly #options: SlotOptions
  readonly #thread: StartedThread
  readonly #jobs = new TransientMap<number, ThreadJob>()
  /** Tasks that arrived in this turn; they are sent together at its end. */
  #turn: RenderTask[] = []
  readonly #opened = Promise.withResolvers<void>()
  readonly #updates: ((evicted: readonly string[]) => void)[] = []
  readonly #isolateClosed = Promise.withResolvers<void>()
  readonly #closed = Promise.withResolvers<void>()
  #port: MessagePort | undefined
  #isClosing = false
  #idleSince = performance.now()

  constructor(options: SlotOptions) {
    this.#options = options
    this.#thread = options.thread
    this.record = new IsolateRecord(options.thread.number)
    this.#opened.promise.catch(() => undefined)
    this.#thread.own({ linked: (port) => this.#linked(port), ended: (error) => this.#died(error) })
  }

  get isReady(): boolean {
    return this.#port !== undefined && !this.#isClosing
  }

  get active(): number {
    return this.#jobs.size
  }

  /** Time without a job, in milliseconds. */
  get idleMs(): number {
    return this.#jobs.size > 0 ? 0 : performance.now() - this.#idleSince
  }

  /** Hands a job over, together with the others of this turn: a task of the pool costs the same for many. */
  run(job: ThreadJob): void {
    this.#jobs.set(job.task.number, job)
    if (job.task.kind !== 'inspect') this.record.requests++
    if (this.#turn.length === 0) queueMicrotask(() => this.#handOver())
    this.#turn.push(job.task)
  }

  #handOver(): void {
    const tasks = this.#turn
    this.#turn = []
    if (tasks.length === 0) return
    const transferList = tasks.flatMap(({ body }) => (body === undefined ? [] : transferable(body)))
    this.#thread.run(tasks, transferList).catch((cause: unknown) => {
      const error = new RenderError('RENDER_ISOLATE_LOST', 'the render thread has ended', { cause })
      for (const { number } of tasks) this.#settle(number, (job) => job.fail(error))
    })
  }

  send(message: HostToThread): void {
    const bytes = message.t === 'body' ? message.bytes : undefined
    this.#port?.postMessage(message, bytes === undefined ? [] : transferable(bytes))
  }

  /** Aborts a job: its client has disconnected. */
  abort(job: ThreadJob): void {
    const waiting = this.#turn.indexOf(job.task)
    if (waiting >= 0) this.#turn.splice(waiting, 1)
    else this.send({ t: 'abort', number: job.task.number })
    this.#release(job)
  }

  /** Takes in that files of the site have changed. Resolves with the modules that have changed. */
  async update(message: Extract<HostToThread, { t: 'update' }>): Promise<readonly string[]> {
    await this.#opened.promise
    if (this.#isClosing) return []
    const { promise, resolve } = Promise.withResolvers<readonly string[]>()
    this.#updates.push(resolve)
    this.send(message)
    return await promise
  }

  /** Asks how much memory the isolate uses. Resolves when the record has it, or after a time. */
  async measure(): Promise<void> {
    if (this.isReady) await this.record.measure(() => this.send({ t: 'measure' }))
  }

  /** True if a job is far past its deadline: the thread is stalled. */
  hasOverdueJob(now: number): boolean {
    for (const job of this.#jobs.values()) if (job.deadlineAt + GRACE_MS < now) return true
    return false
  }

  /** Ends isolate and thread; jobs still in it fail. Idempotent. */
  async close(): Promise<void> {
    if (!this.#isClosing) {
      this.#isClosing = true
      await this.#end()
    }
    await this.#closed.promise
  }

  async #end(): Promise<void> {
    try {
      if (this.#port !== undefined) {
        this.send({ t: 'close' })
        await withDeadline(this.#isolateClosed.promise, CLOSE_TIMEOUT_MS, 'end of an isolate')
      }
      await withDeadline(this.#thread.close(), CLOSE_TIMEOUT_MS, 'end of a render thread')
    } catch {
      // Only the deadlines reject.
      this.#options.events.stuck('timeout')
    }
    const closed = new RenderError('RENDER_ISOLATE_LOST', 'the render thread was closed')
    this.#opened.reject(closed)
    for (const resolve of this.#updates) resolve([])
    this.#failAll(closed)
    this.#port?.close()
    this.#closed.resolve()
  }

  #linked(port: MessagePort): void {
    if (this.#isClosing) return
    this.#port = port
    const { settings, events } = this.#options
    const services = new MessageChannel()
    const assign: HostToThread = { t: 'assign', settings, services: services.port2 }
    port.postMessage(assign, [services.port2])
    events.serve(services.port1)
    port.on('message', (message: ThreadToHost) => this.#received(message))
    port.unref()
    this.#opened.resolve()
    events.ready(this)
  }

  #received(message: ThreadToHost): void {
    const { events } = this.#options
    switch (message.t) {
      case 'results':
        for (const [number, result] of message.results) this.#took(number, result)
        break
      case 'wantBody':
        this.#jobs.get(message.number)?.wantBody()
        break
      case 'bodyTaken':
        this.#jobs.get(message.number)?.bodyTaken(message.byteCount)
        break
      case 'log':
        events.log(message.level, message.origin, message.text)
        break
      case 'built':
        this.record.built(message.buildMs)
        break
      case 'measured':
        this.record.measured(message.heapBytes)
        break
      case 'lost':
        this.record.lost()
        events.lost(message.reason)
        break
      case 'stuck':
        events.stuck(message.reason)
        break
      case 'updated':
        this.#updates.shift()?.(message.evicted)
        break
      case 'closed':
        this.#isolateClosed.resolve()
        break
    }
  }

  #took(number: number, result: RenderResult | StreamPart): void {
    const job = this.#jobs.get(number)
    if (job === undefined) return
    if (result.kind === 'head') job.head(result.head, result.body)
    else if (result.kind === 'chunk') job.chunk(result.body)
    else {
      this.#release(job)
      if (result.kind === 'end') job.end(result.facts, result.renderMs, result.body)
      else if (result.kind === 'failed' || result.kind === 'broken') job.fail(fromWire(result.error))
      else job.result(result)
    }
  }

  #settle(number: number, tell: (job: ThreadJob) => void): void {
    const job = this.#jobs.get(number)
    if (job === undefined) return
    this.#release(job)
    tell(job)
  }

  #release(job: ThreadJob): void {
    if (!this.#jobs.delete(job.task.number)) return
    if (this.#jobs.size === 0) this.#idleSince = performance.now()
    this.#options.events.released(this)
  }

  #died(error: Error): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.#opened.reject(error)
    for (const resolve of this.#updates) resolve([])
    this.#failAll(new RenderError('RENDER_ISOLATE_LOST', 'the render thread has ended', { cause: error }))
    this.#port?.close()
    // Piscina starts another thread for one that ended; this slot has had its thread.
    this.#thread.close().then(this.#closed.resolve, this.#closed.resolve)
    this.#options.events.died(this, error)
  }

  #failAll(error: Error): void {
    for (const job of this.#jobs.values()) this.#settle(job.task.number, () => job.fail(error))
  }
}
