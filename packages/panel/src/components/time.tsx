import { useEffect, useState } from 'preact/hooks'
import { absoluteTime, relativeTime } from '../format/relative-time.ts'

const TICK_MS = 10_000

/** The time of now, again and again. */
function useNow(): number {
  const [nowMs, setNowMs] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  return nowMs
}

/** A time as seen from now; the absolute one on hover. @param at RFC 3339, or milliseconds since the epoch; null: never */
export function Time({ at }: { readonly at: string | number | null }) {
  const nowMs = useNow()
  if (at === null) return <span>never</span>
  const atMs = typeof at === 'number' ? at : Date.parse(at)
  if (Number.isNaN(atMs)) return <span>{at}</span>
  return (
    <time dateTime={new Date(atMs).toISOString()} title={absoluteTime(atMs)}>
      {relativeTime(atMs, Math.max(nowMs, Date.now()))}
    </time>
  )
}
