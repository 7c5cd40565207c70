import type { HostCallbacks } from '@svc/guest'
import type { ThreadBase } from '../contract/thread-messages.ts'
import type { GuestFiles } from './guest-files.ts'
import { GuestIsolate, type IsolateEvents, type IsolateOptions } from './guest-isolate.ts'

/** Makes an isolate. @throws RENDER_GUEST */
export type CreateIsolate = (options: IsolateOptions) => Promise<GuestIsolate>

type Owner = Pick<IsolateOptions, 'callbacks' | 'events'>

/** The guest and the events of isolated-vm go to the isolate's current owner; without an owner they are dropped. */
function speakingTo(owner: () => Owner | undefined): Owner {
  const callbacks: HostCallbacks = {
    emit: (...args) => owner()?.callbacks.emit(...args),
    call: (...args) => owner()?.callbacks.call(...args),
    setTimer: (...args) => owner()?.callbacks.setTimer(...args),
    clearTimer: (timerId) => owner()?.callbacks.clearTimer(timerId),
    log: (...args) => owner()?.callbacks.log(...args),
    randomBytes: (count) => owner()?.callbacks.randomBytes(count) ?? new ArrayBuffer(0),
  }
  const events: IsolateEvents = {
    backgroundError: (message) => owner()?.events.backgroundError(message),
    lost: (reason) => owner()?.events.lost(reason),
    catastrophe: (message) => owner()?.events.catastrophe(message),
    snapshotFailed: (error) => owner()?.events.snapshotFailed(error),
  }
  return { callbacks, events }
}

/** An isolate that is started before it is known for which site. No code of any site is in it until then. */
export class PreparedIsolate {
  readonly #base: ThreadBase
  readonly #files: GuestFiles
  #isolate: Promise<GuestIsolate> | undefined
  #owner: Owner | undefined
  readonly #startedAt = performance.now()
  #createMs: number | undefined

  constructor(base: ThreadBase, files: GuestFiles) {
    this.#base = base
    this.#files = files
    const { memoryLimitMb, timeoutMs } = base
    this.#isolate = GuestIsolate.create({ files, memoryLimitMb, timeoutMs, ...speakingTo(() => this.#owner) })
    const done = () => {
      this.#createMs = this.#ageMs()
    }
    // A failure is that of whoever asks for it.
    this.#isolate.then(done, done)
  }

  /** How much of the time that its creation takes has passed before `take`; 0 when there is nothing left to take. */
  get headStartMs(): number {
    return this.#isolate === undefined ? 0 : (this.#createMs ?? this.#ageMs())
  }

  /** The isolate, once; whoever comes later, or wants another kind, gets one of its own. */
  readonly take: CreateIsolate = async (options) => {
    const isolate = this.#isolate
    const { memoryLimitMb, timeoutMs } = this.#base
    const fits = options.memoryLimitMb === memoryLimitMb && options.timeoutMs === timeoutMs && options.files === this.#files
    if (isolate === undefined || !fits) return await GuestIsolate.create(options)
    this.#isolate = undefined
    this.#owner = options
    const taken = await isolate
    return taken.isGone ? await GuestIsolate.create(options) : taken
  }

  #ageMs(): number {
    return performance.now() - this.#startedAt
  }
}
