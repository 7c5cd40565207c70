import type { HeaderList } from '@svc/http'

/** Paths that are remembered of one site. Past them the oldest is forgotten: it costs a run of the middleware. */
const MAX_PATHS = 4_096
/** What middleware asks of the world (a flag behind a `fetch`, the time) may change without a change of its code. */
const MAX_AGE_MS = 60_000

interface Run {
  readonly responseHeaders: HeaderList
  readonly untilMs: number
}

/**
 * Runs of a middleware that went on without looking at anything of the request but path and method: the next request for the
 * same needs none. Belongs to one state of the site's code.
 */
export class MiddlewareMemory {
  readonly #runs = new Map<string, Run>()

  /** Fields that the middleware sets on the response; undefined: it must be asked. `nowMs` of the monotonic clock. */
  get(method: string, path: string, nowMs: number): HeaderList | undefined {
    const key = `${method} ${path}`
    const run = this.#runs.get(key)
    if (run === undefined || nowMs < run.untilMs) return run?.responseHeaders
    this.#runs.delete(key)
    return undefined
  }

  add(method: string, path: string, responseHeaders: HeaderList, nowMs: number): void {
    const key = `${method} ${path}`
    this.#runs.delete(key)
    this.#runs.set(key, { responseHeaders, untilMs: nowMs + MAX_AGE_MS })
    const oldest = this.#runs.size > MAX_PATHS ? this.#runs.keys().next().value : undefined
    if (oldest !== undefined) this.#runs.delete(oldest)
  }
}
