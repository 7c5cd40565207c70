import { useParameter } from '../address/router.ts'
import { ChoiceFilter, Filters, windows } from '../components/filters.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Section } from '../components/section.tsx'
import type { Analytics } from '../data/answers.ts'
import { useUser } from '../data/services.ts'
import { useResource } from '../data/use-resource.ts'
import { Alerts } from '../panels/alerts.tsx'
import { ChangeList, useChanges } from '../panels/changes.tsx'
import { Health } from '../panels/health.tsx'
import { Now } from '../panels/now.tsx'
import { TrafficCharts } from '../panels/traffic-charts.tsx'

const EVERY_MS = 30_000

/** Is it well? */
export default function Overview() {
  const [window] = useParameter('window', '1h')
  const traffic = useResource<Analytics>('/obs/analytics', { query: { window }, everyMs: EVERY_MS })
  const { changes, marks } = useChanges(window)
  const { role } = useUser()
  return (
    <>
      <Section title="Now">
        <Now />
      </Section>
      <div class="columns">
        <Section title="Health">
          <Health />
        </Section>
        <Section title="Alerts">
          <Alerts />
        </Section>
        {role !== 'tenant_admin' && (
          <Section title="What changed lately">
            <ChangeList changes={changes} />
          </Section>
        )}
      </div>
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
    </>
  )
}
