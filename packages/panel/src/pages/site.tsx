import { useState } from 'preact/hooks'
import { useParameter } from '../address/router.ts'
import { Empty } from '../components/empty.tsx'
import { ChoiceFilter, Filters, windows } from '../components/filters.tsx'
import { Link } from '../components/link.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Section } from '../components/section.tsx'
import { Stat, StatList } from '../components/stat.tsx'
import { Status, toneOf } from '../components/status.tsx'
import { Tabs } from '../components/tabs.tsx'
import type { Analytics, SiteDetails } from '../data/answers.ts'
import { useResource } from '../data/use-resource.ts'
import { useChanges } from '../panels/changes.tsx'
import { SiteActions } from '../panels/site-actions.tsx'
import { SiteCache } from '../panels/site-cache.tsx'
import { Isolates, Problems, Releases, Routes } from '../panels/site-tables.tsx'
import { TrafficCharts } from '../panels/traffic-charts.tsx'

const EVERY_MS = 15_000

/** One site: its state, traffic, routes, isolates and releases. */
export default function Site() {
  const [id] = useParameter('id')
  const site = useResource<SiteDetails>(`/admin/api/sites/${encodeURIComponent(id)}`, { everyMs: EVERY_MS, isWanted: id !== '' })
  // A deployment makes a release, which the tab of the releases must show.
  const [operations, setOperations] = useState(0)
  const done = () => {
    setOperations((count) => count + 1)
    site.reload()
  }
  if (id === '') return <Empty title="The address names no site.">Choose one on the page Sites.</Empty>
  return (
    <Loaded resource={site} doing={`load the site ${id}`} rows={8}>
      {(details) => (
        <>
          <Section title="State" tools={<SiteActions site={details} onDone={done} />}>
            <Facts site={details} />
            <Problems site={details} />
          </Section>
          <Tabs
            name="tab"
            label="Parts of the site"
            tabs={[
              { name: 'traffic', title: 'Traffic', content: () => <Traffic id={id} /> },
              { name: 'routes', title: 'Routes', content: () => <Routes site={details} /> },
              { name: 'cache', title: 'Cache', content: () => <SiteCache site={details} onDone={site.reload} /> },
              { name: 'isolates', title: 'Isolates', content: () => <Isolates site={details} /> },
              {
                name: 'releases',
                title: 'Releases',
                content: () => <Releases site={details} operations={operations} onDone={site.reload} />,
              },
            ]}
          />
        </>
      )}
    </Loaded>
  )
}

function flowsPage(site: string, reason: string): string {
  return `/__svc/admin/flows?${new URLSearchParams({ site, reason, ...(reason === 'failed' ? { time: '5' } : {}) })}`
}

function Facts({ site }: { readonly site: SiteDetails }) {
  const { id, state, hostnames, tenant, process, root, generation, cache, isolates } = site
  return (
    <>
      <p class="verdict">
        <strong>
          <Status tone={toneOf(state)}>{state}</Status>
        </strong>
        <Link href={flowsPage(id, 'failed')}>Failed requests, last 5 minutes</Link>
        <Link href={flowsPage(id, 'slow')}>Slow requests</Link>
        <Link href={`/__svc/admin/logs?${new URLSearchParams({ site: id })}`}>Logs</Link>
      </p>
      <dl class="facts">
        <div>
          <dt>Host names</dt>
          <dd>{hostnames.join(', ') || 'none'}</dd>
        </div>
        <div>
          <dt>Root</dt>
          <dd>
            <code>{root}</code>
          </dd>
        </div>
        <div>
          <dt>Tenant</dt>
          <dd>{tenant ?? 'none'}</dd>
        </div>
        <div>
          <dt>Process</dt>
          <dd>{process}</dd>
        </div>
        <div>
          <dt>Generation</dt>
          <dd>{generation}</dd>
        </div>
      </dl>
      <StatList label="Caches and isolates">
        <Stat label="Cached pages (ISR)" value={cache.isr.entries} unit="count" />
        <Stat label="Size of cached pages" value={cache.isr.bytes} unit="bytes" />
        <Stat label="Cached upstream responses" value={cache.proxy.entries} unit="count" />
        <Stat label="Size of cached responses" value={cache.proxy.bytes} unit="bytes" />
        <Stat label="Isolates" value={isolates.length} unit="count" />
      </StatList>
    </>
  )
}

function Traffic({ id }: { readonly id: string }) {
  const [window] = useParameter('window', '1h')
  const traffic = useResource<Analytics>('/obs/analytics', { query: { window, site: id }, everyMs: 30_000 })
  const { marks } = useChanges(window, id)
  return (
    <>
      <Filters label="Traffic">
        <ChoiceFilter name="window" label="Time" choices={windows} />
      </Filters>
      <Loaded resource={traffic} doing={`load the traffic of ${id}`} rows={6}>
        {(data) => <TrafficCharts analytics={data} marks={marks} />}
      </Loaded>
    </>
  )
}
