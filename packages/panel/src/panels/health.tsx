import { Loaded } from '../components/loaded.tsx'
import { Status } from '../components/status.tsx'
import type { HealthAnswer } from '../data/answers.ts'
import { useUser } from '../data/services.ts'
import { useResource } from '../data/use-resource.ts'

const EVERY_MS = 15_000

/** The health report with its components. */
export function Health() {
  const isWanted = useUser().role !== 'tenant_admin'
  const health = useResource<HealthAnswer>('/admin/api/health', { everyMs: EVERY_MS, isWanted })
  if (!isWanted) return null
  return (
    <Loaded resource={health} doing="load the health report" rows={1}>
      {({ status, checks }) => (
        <ul class="chips" aria-label={`Health report: ${status}`}>
          <li>
            <Status tone={status === 'healthy' ? 'good' : 'bad'}>{status}</Status>
          </li>
          {Object.entries(checks).map(([name, state]) => (
            <li key={name}>
              <Status tone={state === 'ok' ? 'good' : 'bad'}>{`${name.replaceAll('_', ' ')}: ${state}`}</Status>
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  )
}
