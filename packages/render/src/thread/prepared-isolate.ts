import type { ThreadBase } from '../contract/thread-messages.ts'
import type { GuestFiles } from './guest-files.ts'
import { GuestIsolate, type IsolateOwner, type IsolateOwnership } from './guest-isolate.ts'

/** An isolate that is started before it is known for which site. No code of any site is in it until then. */
export class PreparedIsolate {
  readonly #base: ThreadBase
  readonly #files: GuestFiles
  #isolate: Promise<GuestIsolate> | undefined
  readonly #ownership: IsolateOwnership = { owner: undefined }
  readonly #startedAt = performance.now()
  #createMs: number | undefined

  constructor(base: ThreadBase, files: GuestFiles) {
    this.#base = base
    this.#files = files
    const { memoryLimitMb, timeoutMs } = base
    this.#isolate = GuestIsolate.create({ files, memoryLimitMb, timeoutMs, ownership: this.#ownership })
    const done = () => {
      this.#createMs = this.#ageMs()
    }
    // `take` rejects with a failure.
    this.#isolate.then(done, done)
  }

  /** How much of the time that its creation takes has passed before `take`; 0 when there is nothing left to take. */
  get headStartMs(): number {
    return this.#isolate === undefined ? 0 : (this.#createMs ?? this.#ageMs())
  }

  /**
   * Returns the isolate, once; later callers get a new one.
   * @throws RENDER_GUEST
   */
  async take(owner: IsolateOwner): Promise<GuestIsolate> {
    const isolate = this.#isolate
    this.#isolate = undefined
    if (isolate !== undefined) this.#ownership.owner = owner
    const taken = await isolate
    const { memoryLimitMb, timeoutMs } = this.#base
    const fresh = { files: this.#files, memoryLimitMb, timeoutMs, ownership: { owner } }
    return taken === undefined || taken.isGone ? await GuestIsolate.create(fresh) : taken
  }

  #ageMs(): number {
    return performance.now() - this.#startedAt
  }
}
