import { Empty } from '../components/empty.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Status, toneOf } from '../components/status.tsx'
import { Time } from '../components/time.tsx'
import type { Alert } from '../data/answers.ts'
import { useResource } from '../data/use-resource.ts'

const EVERY_MS = 15_000

/** The alerts that fire or are about to, with hints. */
export function Alerts() {
  const alerts = useResource<{ readonly alerts: readonly Alert[] }>('/obs/alerts', { everyMs: EVERY_MS })
  return (
    <Loaded resource={alerts} doing="load the alerts">
      {({ alerts: all }) => {
        const shown = all.filter(({ state }) => state !== 'ok')
        if (shown.length === 0) {
          return (
            <Empty title="No alert fires.">
              {all.length} alerts are watched; <code>[[obs.alerts]]</code> of the configuration adds others.
            </Empty>
          )
        }
        return (
          <ul class="alerts">
            {shown.map(({ name, subject, site, state, since, hint }) => (
              <li key={`${name} ${subject} ${site}`}>
                <Status tone={toneOf(state)}>{state}</Status> <strong>{name}</strong> {site} {subject}{' '}
                <small>
                  since <Time at={since} />
                </small>
                <p>{hint}</p>
              </li>
            ))}
          </ul>
        )
      }}
    </Loaded>
  )
}
