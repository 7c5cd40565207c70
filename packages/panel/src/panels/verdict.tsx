import { Skeleton } from '../components/skeleton.tsx'
import { Status } from '../components/status.tsx'
import { useLast } from '../data/live-stream.ts'
import { useServices } from '../data/services.ts'
import { counted } from '../format/quantity.ts'
import { Health } from './health.tsx'

/** Is it well? In a sentence, with the checks of the health report. */
export function Verdict() {
  const report = useLast(useServices().summary)
  if (report === undefined) return <Skeleton rows={1} label="Waiting for the first figures" />
  const { firing, pending, silenced } = report.alerts
  const tone = firing > 0 ? 'bad' : pending > 0 ? 'warning' : 'good'
  const words = firing > 0 ? 'Something is wrong' : pending > 0 ? 'Something may be wrong' : 'All is well'
  const counts = [
    counted(firing, 'alert fires', 'alerts fire'),
    ...(pending === 0 ? [] : [`${pending} pending`]),
    ...(silenced === 0 ? [] : [`${silenced} silenced`]),
  ]
  return (
    <>
      <p class="verdict">
        <strong>
          <Status tone={tone}>{words}</Status>
        </strong>
        <span>{counts.join(', ')}</span>
      </p>
      <Health />
    </>
  )
}
