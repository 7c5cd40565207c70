/** Counts what an engine has to do, and lets a drain wait for it to become less. */
export class EngineLoad {
  #connections = 0
  #inFlight = 0
  #isClosed = false
  #onChange: (() => void) | undefined

  /** Open connections, idle ones included. */
  get connections(): number {
    return this.#connections
  }

  /** Requests whose response is not yet written, and open WebSockets. */
  get inFlight(): number {
    return this.#inFlight
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  countConnections(change: number): void {
    this.#connections += change
    if (this.#connections === 0) this.#onChange?.()
  }

  countInFlight(change: number): void {
    this.#inFlight += change
    if (this.#inFlight === 0) this.#onChange?.()
  }

  /** Nothing is waited for any more. */
  close(): void {
    this.#isClosed = true
    this.#onChange?.()
  }

  /** Waits for a condition that becomes true when the last request or the last connection ends, at most `timeoutMs`. */
  until(isReached: () => boolean, timeoutMs: number): Promise<void> {
    if (isReached() || this.#isClosed || timeoutMs <= 0) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, timeoutMs)
    this.#onChange = () => {
      if (isReached() || this.#isClosed) resolve()
    }
    return promise.finally(() => {
      clearTimeout(timer)
      this.#onChange = undefined
    })
  }
}

/** How long finished responses may take to leave after the last request, before idle connections are cut. */
const FLUSH_GRACE_MS = 500

/** Waits until all requests have ended and their connections have closed, or `timeoutMs` have passed. @returns how many are left */
export async function drained(load: EngineLoad, timeoutMs: number): Promise<number> {
  const deadline = performance.now() + timeoutMs
  while (!load.isClosed && load.connections > 0) {
    await load.until(() => load.inFlight === 0, deadline - performance.now())
    if (load.inFlight > 0 && performance.now() >= deadline) break
    await load.until(() => load.connections === 0, Math.min(FLUSH_GRACE_MS, deadline - performance.now()))
    if (load.inFlight === 0) break
  }
  return load.inFlight
}
