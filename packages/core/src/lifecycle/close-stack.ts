import { asError } from '../errors/app-error.ts'
import { withDeadline } from '../timing/deadline.ts'

type Release = () => void | Promise<void>

/** Told about each release that failed or was late; the rest still run. */
type CloseFailureListener = (step: string, error: Error) => void

/**
 * Collects releases as things are acquired and runs them in reverse order. A failing step is reported and the rest still
 * run. `close` is idempotent: all callers share one promise.
 */
export class CloseStack {
  readonly #steps: Array<{ name: string; release: Release }> = []
  readonly #onFailure: CloseFailureListener
  readonly #stepTimeoutMs: number
  #closing: Promise<void> | undefined
  #hasRun = false

  constructor(onFailure: CloseFailureListener, stepTimeoutMs = 10_000) {
    this.#onFailure = onFailure
    this.#stepTimeoutMs = stepTimeoutMs
  }

  get isClosing(): boolean {
    return this.#closing !== undefined
  }

  /** Adds a release that runs before all that were added earlier. After the stack has closed it runs at once. */
  push(name: string, release: Release): void {
    this.#steps.push({ name, release })
    if (this.#hasRun) this.#closing = this.#run()
  }

  /** Runs all releases, last acquired first. Never rejects. */
  close(): Promise<void> {
    this.#closing ??= this.#run()
    return this.#closing
  }

  async #run(): Promise<void> {
    this.#hasRun = false
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await withDeadline(Promise.resolve(step.release()), this.#stepTimeoutMs, `close of ${step.name}`)
      } catch (error) {
        this.#onFailure(step.name, asError(error))
      }
    }
    this.#hasRun = true
  }
}
