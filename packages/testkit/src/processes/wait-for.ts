const FIRST_POLL_MS = 10
const MAX_POLL_MS = 50
/** Share of the time waited so far: a probe may ask a process that others wait for too, and must not keep it busy. */
const POLL_SHARE = 0.1
const DEFAULT_TIMEOUT_MS = 15_000

/** For waits on processes that start, end or are under load, several at a time on two cores: they take seconds on a busy machine. */
export const PROCESS_WAIT_MS = 60_000

/**
 * Waits until `probe` returns something other than undefined, null or false, and returns it. For conditions that have no event of
 * their own; whatever has one is awaited directly.
 * @param timeoutMs default: 15 s; a caller that needs more states the reason
 * @throws naming `what` after `timeoutMs`, with the last error of the probe as cause
 */
export async function waitFor<T>(
  what: string,
  probe: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  timeoutMs = DEFAULT_TIMEOUT_MS,
): Promise<T> {
  const startedAt = Date.now()
  let lastError: unknown
  for (;;) {
    try {
      const value = await probe()
      if (value !== undefined && value !== null && value !== false) return value
    } catch (error) {
      lastError = error
    }
    const waitedMs = Date.now() - startedAt
    if (waitedMs > timeoutMs) throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}`, { cause: lastError })
    const pollMs = Math.min(MAX_POLL_MS, FIRST_POLL_MS + waitedMs * POLL_SHARE)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
