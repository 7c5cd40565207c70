import { type Clock, codeOf } from '@svc/core'

/** Options of `watchHeartbeat`. */
interface HeartbeatOptions<Pong> {
  /** Sends one ping; rejects with CORE_TIMEOUT if no pong arrives within `timeoutMs`. */
  readonly ping: (timeoutMs: number) => Promise<Pong>
  readonly intervalMs: number
  readonly timeoutMs: number
  readonly onPong: (pong: Pong) => void
  /** Called once when the process has stopped responding; the watch has ended by then. */
  readonly onHang: () => void
  readonly clock: Clock
}

/** A timeout that fires this late means that this process, not the other, was blocked. */
const LATE_FACTOR = 1.2

/** Pings a process, one ping at a time, until it ends, hangs, or the returned function is called. */
export function watchHeartbeat<Pong>(options: HeartbeatOptions<Pong>): () => void {
  const { clock, timeoutMs } = options
  let isStopped = false
  let cancel: () => void = () => undefined

  const beat = async (): Promise<void> => {
    const startedAt = clock.monotonic()
    try {
      const pong = await options.ping(timeoutMs)
      if (isStopped) return
      options.onPong(pong)
      cancel = clock.after(options.intervalMs, run)
    } catch (error) {
      if (isStopped || codeOf(error) === 'CORE_PEER_GONE') return
      if (codeOf(error) === 'CORE_TIMEOUT' && clock.monotonic() - startedAt > timeoutMs * LATE_FACTOR) run()
      else options.onHang()
    }
  }
  const run = () => void beat()
  run()
  return () => {
    isStopped = true
    cancel()
  }
}
