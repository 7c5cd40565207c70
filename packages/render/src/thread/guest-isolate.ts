import { messageOf, withDeadline } from '@svc/core'
import type { GuestApi, HostCallbacks, ModuleFormat } from '@svc/guest'
import ivm from 'isolated-vm'
import type { LossReason } from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import { GUEST_SCRIPT_NAME, type GuestFiles } from './guest-files.ts'
import { requireMemory, type SnapshotTarget, takeHeapSnapshot } from './heap-snapshot.ts'

/** How long a disposed isolate may take to stop. */
const STOP_TIMEOUT_MS = 1_000

const apiNames = [
  'configure',
  'define',
  'defineRoute',
  'forgetRoutes',
  'evict',
  'begin',
  'bodyChunk',
  'abort',
  'resume',
  'hold',
  'fire',
  'settle',
] as const satisfies readonly (keyof GuestApi)[]
type ApiName = (typeof apiNames)[number]
type Argument = string | number | boolean | undefined | ArrayBuffer

/** Events of an isolate, for its owner. */
interface IsolateEvents {
  /** The site's code left a rejection or threw outside of any request. */
  backgroundError(message: string): void
  /** The isolate is gone. Called once, not after `dispose`. */
  lost(reason: LossReason): void
  /** V8 ran out of memory where nothing can be unwound: a thread of the process hangs for ever. */
  catastrophe(message: string): void
  /** It could not be started from the snapshot. */
  snapshotFailed(error: unknown): void
}

/** The guest, and isolated-vm, speak to the owner of an isolate. */
export interface IsolateOwner {
  /** undefined: not yet. */
  readonly callbacks: HostCallbacks | undefined
  readonly events: IsolateEvents
}

/** Names the owner of an isolate; undefined: it has none yet, and calls and events are dropped. */
export interface IsolateOwnership {
  owner: IsolateOwner | undefined
}

/** Options of a `GuestIsolate`. */
interface IsolateOptions {
  readonly files: GuestFiles
  readonly memoryLimitMb: number
  /** Time that one entry may run. */
  readonly timeoutMs: number
  readonly ownership: IsolateOwnership
}

/** A module in the form that an isolate takes. */
export interface IsolateModule {
  readonly id: string
  readonly format: ModuleFormat
  /** JSON: specifier -> module id. */
  readonly dependencies: string
  /** An expression that gives the factory, beginning on a line of its own; the text itself for formats without one. */
  readonly code: string
  /** Under which name its bytecode is kept; undefined: not worth it. */
  readonly bytecodeName: string | undefined
  readonly bytecode: Uint8Array | undefined
}

/** V8's code cache for a script, stored under a name. */
interface ProducedBytecode {
  readonly name: string
  readonly data: Uint8Array
}

/**
 * One V8 isolate with the guest in it. Site code runs on threads of isolated-vm, never on this one, so that this one can
 * give it up at any moment.
 */
export class GuestIsolate {
  readonly #isolate: ivm.Isolate
  readonly #context: ivm.Context
  readonly #options: IsolateOptions
  readonly #api = new Map<ApiName, ivm.Reference>()
  readonly #pending = new Set<Promise<void>>()
  #isGone = false
  /** Settles when the snapshot that is being taken has ended. */
  #snapshot: Promise<unknown> | undefined

  private constructor(isolate: ivm.Isolate, context: ivm.Context, options: IsolateOptions) {
    this.#isolate = isolate
    this.#context = context
    this.#options = options
  }

  /** @throws RENDER_GUEST */
  static async create(options: IsolateOptions): Promise<GuestIsolate> {
    const { snapshot } = options.files
    if (snapshot !== undefined) {
      try {
        return await GuestIsolate.#start(options, snapshot)
      } catch (error) {
        options.ownership.owner?.events.snapshotFailed(error)
      }
    }
    try {
      return await GuestIsolate.#start(options, undefined)
    } catch (error) {
      throw new RenderError('RENDER_GUEST', `failed to start the guest: ${messageOf(error)}`, { cause: error })
    }
  }

  static async #start(options: IsolateOptions, snapshot: Uint8Array | undefined): Promise<GuestIsolate> {
    const image = snapshot === undefined ? {} : { snapshot: externalCopy(snapshot) }
    const isolate = new ivm.Isolate({
      memoryLimit: options.memoryLimitMb,
      // For heap snapshots alone: it costs nothing while there is no session.
      inspector: true,
      onCatastrophicError: (message) => options.ownership.owner?.events.catastrophe(message),
      ...image,
    })
    const context = await isolate.createContext()
    if (snapshot === undefined) await context.eval(options.files.script, { filename: GUEST_SCRIPT_NAME })
    const guest = new GuestIsolate(isolate, context, options)
    await guest.#install(options.ownership)
    return guest
  }

  get isGone(): boolean {
    return this.#isGone
  }

  async #install(ownership: IsolateOwnership): Promise<void> {
    const names = ['emit', 'call', 'setTimer', 'clearTimer', 'log'] as const
    const ignored = names.map((name) => {
      const tell = (...args: unknown[]) =>
        (ownership.owner?.callbacks?.[name] as ((...all: unknown[]) => void) | undefined)?.(...args)
      return new ivm.Callback(tell, { ignored: true })
    })
    const randomBytes = (count: number) => ownership.owner?.callbacks?.randomBytes(count) ?? new ArrayBuffer(0)
    const random = new ivm.Callback(randomBytes, { sync: true })
    const fields = [...names, 'randomBytes'].map((name, index) => `${name}: $${index}`).join(', ')
    await this.#context.evalClosure(`__svc.install({ ${fields} })`, [...ignored, random])
    const api = await this.#context.global.get('__svc', { reference: true })
    for (const name of apiNames) this.#api.set(name, await api.get(name, { reference: true }))
    // The site's code is not to find it.
    await this.#context.global.delete('__svc')
  }

  /**
   * Calls a function of the guest. Resolves when it has returned, whatever the site's code did; also when the isolate is
   * lost meanwhile. Never rejects.
   */
  enter(name: ApiName, ...args: readonly Argument[]): Promise<void> {
    const reference = this.#api.get(name)
    if (reference === undefined || this.#isGone) return Promise.resolve()
    const values = args.map((value) => (value instanceof ArrayBuffer ? moved(value) : value))
    return this.#track(reference.apply(undefined, values, { timeout: this.#options.timeoutMs }))
  }

  /**
   * Defines modules; no code of theirs runs. Returns the code cache of those that had none or a stale one.
   * @throws what V8 does not compile, and when the isolate is lost meanwhile
   */
  async define(modules: readonly IsolateModule[]): Promise<ProducedBytecode[]> {
    const produced: ProducedBytecode[] = []
    const factories = await Promise.all(modules.map((module) => this.#factory(module, produced)))
    const define = this.#api.get('define')
    const defined = modules.map(({ id, format, dependencies }, index) => {
      const values = [id, format, dependencies, factories[index]]
      return define === undefined ? undefined : this.#track(define.apply(undefined, values, { timeout: this.#options.timeoutMs }))
    })
    await Promise.all(defined)
    if (this.#isGone) throw new RenderError('RENDER_ISOLATE_LOST', 'the isolate was stopped while modules were loaded')
    return produced
  }

  async #factory(module: IsolateModule, produced: ProducedBytecode[]): Promise<string | ivm.Dereference<unknown>> {
    if (module.format === 'json' || module.format === 'css') return module.code
    const script = await this.#compile(module, produced)
    try {
      return (await this.#evaluate(script)).derefInto({ release: true })
    } finally {
      if (!this.#isolate.isDisposed) script.release()
    }
  }

  /** A rejection that the site has left comes out of whatever runs next: here that is an expression that cannot fail itself. */
  async #evaluate(script: ivm.Script): Promise<ivm.Reference> {
    const options = { timeout: this.#options.timeoutMs, reference: true } as const
    try {
      return await script.run(this.#context, options)
    } catch (error) {
      this.#failed(error)
      if (this.#isGone) throw error
      return await script.run(this.#context, options)
    }
  }

  async #compile(module: IsolateModule, produced: ProducedBytecode[]): Promise<ivm.Script> {
    const { id, code, bytecode, bytecodeName } = module
    const produceCachedData = bytecodeName !== undefined
    const info = bytecode === undefined ? { produceCachedData } : { cachedData: externalCopy(bytecode) }
    // The first line is the wrapper's: positions stay those of the compiled module.
    const script = await this.#isolate.compileScript(code, { filename: id, lineOffset: -1, ...info })
    const { cachedData, cachedDataRejected } = script as {
      cachedData?: ivm.ExternalCopy<ArrayBuffer>
      cachedDataRejected?: boolean
    }
    if (cachedDataRejected === true) {
      script.release()
      return await this.#compile({ ...module, bytecode: undefined }, produced)
    }
    if (cachedData !== undefined && bytecodeName !== undefined && bytecode === undefined) {
      produced.push({ name: bytecodeName, data: new Uint8Array(cachedData.copy({ release: true })) })
    }
    return script
  }

  /**
   * True if a call that `enter` returned still waits behind another. Calls run one after the other, so all but the oldest do.
   */
  isWaiting(entry: Promise<void>): boolean {
    const [oldest] = this.#pending
    return this.#pending.has(entry) && entry !== oldest
  }

  /** Memory in use, in bytes. */
  async heapBytes(): Promise<number> {
    const { used_heap_size, externally_allocated_size } = await this.#isolate.getHeapStatistics()
    return used_heap_size + externally_allocated_size
  }

  /**
   * Writes its heap into a file. Resolves with the bytes of the file.
   * @throws RENDER_SNAPSHOT
   */
  async heapSnapshot(target: SnapshotTarget): Promise<number> {
    if (this.#snapshot !== undefined) throw new RenderError('RENDER_SNAPSHOT', 'a heap snapshot of this isolate is being taken')
    if (this.#isGone) throw new RenderError('RENDER_SNAPSHOT', 'the isolate was stopped')
    requireMemory(await this.heapBytes(), process.availableMemory())
    const taking = takeHeapSnapshot(this.#isolate, target)
    this.#snapshot = taking.catch(() => undefined)
    return await taking.finally(() => {
      this.#snapshot = undefined
    })
  }

  /** Ends the isolate. False: it runs native code that does not stop; its thread is lost. */
  async dispose(): Promise<boolean> {
    this.#isGone = true
    try {
      if (this.#snapshot !== undefined) await withDeadline(this.#snapshot, STOP_TIMEOUT_MS, 'end of a heap snapshot')
      if (!this.#isolate.isDisposed) this.#isolate.dispose()
      await withDeadline(Promise.allSettled([...this.#pending]), STOP_TIMEOUT_MS, 'end of an isolate')
      return true
    } catch {
      // Only the deadlines reject.
      return false
    }
  }

  #track(entry: Promise<unknown>): Promise<void> {
    const settled: Promise<void> = entry.then(
      () => {
        this.#pending.delete(settled)
      },
      (error: unknown) => {
        this.#failed(error)
        this.#pending.delete(settled)
      },
    )
    this.#pending.add(settled)
    return settled
  }

  #failed(error: unknown): void {
    if (this.#isGone) return
    const events = this.#options.ownership.owner?.events
    const message = messageOf(error)
    if (this.#isolate.isDisposed) {
      this.#isGone = true
      events?.lost(/memory/i.test(message) ? 'memory' : 'crash')
    } else if (message === 'Script execution timed out.') {
      this.#isGone = true
      events?.lost('timeout')
    } else events?.backgroundError(error instanceof Error ? (error.stack ?? message) : message)
  }
}

function externalCopy(bytes: Uint8Array): ivm.ExternalCopy<ArrayBuffer> {
  return new ivm.ExternalCopy(new Uint8Array(bytes).buffer)
}

function moved(buffer: ArrayBuffer): ivm.Copy<ArrayBuffer> {
  return new ivm.ExternalCopy(buffer, { transferOut: true }).copyInto({ release: true, transferIn: true })
}
