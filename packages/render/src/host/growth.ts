/** Requests in flight in each thread from which another thread is worth its memory. */
const BUSY_ABOVE = 4

/** Facts for the decision to add a thread. */
interface PoolLoad {
  readonly threads: number
  /** Threads that are starting. */
  readonly starting: number
  readonly maxThreads: number
  /** Requests in flight in one thread at most. */
  readonly concurrency: number
  readonly active: number
  readonly queued: number
}

/** True if a pool should start another thread: one at a time, when those it has are busy or full. */
export function shouldGrow({ threads, starting, maxThreads, concurrency, active, queued }: PoolLoad): boolean {
  if (threads >= maxThreads || starting > 0) return false
  if (threads === 0) return queued > 0
  return queued > 0 || active >= threads * Math.min(BUSY_ABOVE, concurrency)
}
