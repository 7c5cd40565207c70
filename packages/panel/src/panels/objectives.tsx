import { Empty } from '../components/empty.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Quantity } from '../components/quantity.tsx'
import { Status } from '../components/status.tsx'
import type { SloPage } from '../data/answers.ts'
import { useResource } from '../data/use-resource.ts'

const EVERY_MS = 30_000

/** The service level objectives with the rest of their budgets. */
export function Objectives() {
  const slos = useResource<SloPage>('/obs/slos', { everyMs: EVERY_MS })
  return (
    <Loaded resource={slos} doing="load the objectives">
      {({ slos: all, cursor }) =>
        all.length === 0 ? (
          <Empty title="There are no objectives.">
            <code>[[obs.slos]]</code> of the configuration defines them.
          </Empty>
        ) : (
          <>
            <dl class="facts">
              {all.map(({ name, ratio, objective, window_days: days, budget_left: left, burn_rates: rates }) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <Status tone={rates.some(({ is_burning: isBurning }) => isBurning) || (left ?? 1) <= 0 ? 'bad' : 'good'}>
                      <Quantity value={ratio} unit="ratio" /> of <Quantity value={objective} unit="ratio" /> in {days} d
                    </Status>
                    <br />
                    <small>
                      error budget left: <Quantity value={left} unit="ratio" />
                    </small>
                  </dd>
                </div>
              ))}
            </dl>
            {cursor !== null && <p class="hint">More are on the page SLOs and alerts.</p>}
          </>
        )
      }
    </Loaded>
  )
}
