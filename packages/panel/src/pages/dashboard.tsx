import { useParameter } from '../address/router.ts'
import { Link } from '../components/link.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Section } from '../components/section.tsx'
import type { Analytics } from '../data/answers.ts'
import { useUser } from '../data/services.ts'
import { useResource } from '../data/use-resource.ts'
import { Alerts } from '../panels/alerts.tsx'
import { ChangeList, useChanges } from '../panels/changes.tsx'
import { Liveness } from '../panels/liveness.tsx'
import { Instance, Now } from '../panels/now.tsx'
import { Objectives } from '../panels/objectives.tsx'
import { TrafficCharts } from '../panels/traffic-charts.tsx'
import { Verdict } from '../panels/verdict.tsx'

const EVERY_MS = 30_000

/** A page for a wall: all at a glance, nothing to press. The parameters `window` and `site` choose its traffic. */
export default function Dashboard() {
  const [window] = useParameter('window', '1h')
  const [site] = useParameter('site')
  const traffic = useResource<Analytics>('/obs/analytics', { query: { window, site }, everyMs: EVERY_MS })
  const { changes, marks } = useChanges(window)
  const { role } = useUser()
  return (
    <div class="wall">
      <header class="top">
        <h1>svc dashboard</h1>
        <Liveness />
        <Link href="/__svc/admin">Panel</Link>
      </header>
      <main>
        <Section title="Health">
          <Verdict />
        </Section>
        <Section title="Now">
          <Now hasLinks={false} />
        </Section>
        <Section title={site === '' ? 'Traffic' : `Traffic of ${site}`}>
          <Loaded resource={traffic} doing="load the traffic" rows={6}>
            {(data) => <TrafficCharts analytics={data} marks={marks} />}
          </Loaded>
        </Section>
        <div class="columns">
          <Section title="Instance">
            <Instance hasLinks={false} />
          </Section>
          <Section title="Alerts">
            <Alerts hasActions={false} />
          </Section>
          <Section title="Objectives">
            <Objectives />
          </Section>
          {role !== 'tenant_admin' && (
            <Section title="Recent changes">
              <ChangeList changes={changes} hasLinks={false} />
            </Section>
          )}
        </div>
      </main>
    </div>
  )
}
