import { Link } from '../components/link.tsx'
import { Status } from '../components/status.tsx'
import { StreamStatus } from '../components/stream-status.tsx'
import { useLast } from '../data/live-stream.ts'
import { useServices } from '../data/services.ts'
import { useStore } from '../data/store.ts'

/** Tells if the figures are live, and how many alerts fire. */
export function Liveness() {
  const { summary } = useServices()
  const report = useLast(summary)
  const state = useStore(summary.state)
  const firing = report?.alerts.firing ?? 0
  return (
    <p class="liveness" role="status">
      <StreamStatus state={state} />
      {firing > 0 && (
        <Link href="/__svc/admin/alerts" class="alerts-link">
          <Status tone="bad">{firing === 1 ? '1 alert fires' : `${firing} alerts fire`}</Status>
        </Link>
      )}
    </p>
  )
}
