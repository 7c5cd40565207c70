import { useParameter } from '../address/router.ts'
import { ChoiceFilter, Filters, windows } from '../components/filters.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Section } from '../components/section.tsx'
import type { Analytics } from '../data/answers.ts'
import { useLast } from '../data/live-stream.ts'
import { useServices, useUser } from '../data/services.ts'
import { useResource } from '../data/use-resource.ts'
import { Alerts } from '../panels/alerts.tsx'
import { ChangeList, useChanges } from '../panels/changes.tsx'
import { Instance, Now } from '../panels/now.tsx'
import { TrafficCharts } from '../panels/traffic-charts.tsx'
import { Verdict } from '../panels/verdict.tsx'

const EVERY_MS = 30_000

/** Is it well? */
export default function Overview() {
  const [window] = useParameter('window', '1h')
  const traffic = useResource<Analytics>('/obs/analytics', { query: { window }, everyMs: EVERY_MS })
  const { changes, marks } = useChanges(window)
  const { role } = useUser()
  return (
    <>
      <Section title="Health">
        <Verdict />
        <TroubleList />
      </Section>
      <Section title="Now">
        <Now hasLinks />
      </Section>
      <Section
        title="Traffic"
        tools={
          <Filters label="Traffic">
            <ChoiceFilter name="window" label="Time" choices={windows} />
          </Filters>
        }
      >
        <Loaded resource={traffic} doing="load the traffic" rows={6}>
          {(data) => <TrafficCharts analytics={data} marks={marks} />}
        </Loaded>
      </Section>
      <div class="columns">
        <Section title="Instance">
          <Instance hasLinks />
        </Section>
        {role !== 'tenant_admin' && (
          <Section title="Recent changes">
            <ChangeList changes={changes} hasLinks />
          </Section>
        )}
      </div>
    </>
  )
}

/** The alerts that are not ok; nothing where all are. */
function TroubleList() {
  const firing = useLast(useServices().summary)?.alerts
  const isAny = firing !== undefined && firing.firing + firing.pending + firing.silenced > 0
  return isAny ? <Alerts hasActions /> : null
}
