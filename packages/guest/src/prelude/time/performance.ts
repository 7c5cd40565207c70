// The engine has no finer clock than Date here; steps back of the wall clock are held level.
let originAt = 0
let lastMs = 0

/** Starts the clock. Called when the isolate begins, not in the snapshot. */
export function startPerformanceClock(): void {
  originAt = Date.now()
  lastMs = 0
}

/** Milliseconds since the isolate began; never goes back. */
export function performanceNow(): number {
  lastMs = Math.max(lastMs, Date.now() - originAt)
  return lastMs
}

/** `performance` with what servers use: now, timeOrigin, and marks that measure nothing but time. */
export const performance = Object.freeze({
  now: performanceNow,
  get timeOrigin(): number {
    return originAt
  },
  toJSON: () => ({ timeOrigin: originAt }),
})
