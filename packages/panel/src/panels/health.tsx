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
  if (!isWanted) return <p>The health report names sites of all tenants: ask the operator.</p>
  return (
    <Loaded resource={health} doing="load the health report">
      {({ status, checks }) => (
        <>
          <p class="headline">
            <Status tone={status === 'healthy' ? 'good' : 'bad'}>{status}</Status>
          </p>
          <dl class="facts">
            {Object.entries(checks).map(([name, state]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <Status tone={state === 'ok' ? 'good' : 'bad'}>{state}</Status>
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </Loaded>
  )
}
