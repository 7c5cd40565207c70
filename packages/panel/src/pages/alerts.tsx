import type { SloStatus } from '@svc/protocol'
import { Empty } from '../components/empty.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Quantity } from '../components/quantity.tsx'
import { Section } from '../components/section.tsx'
import { Status } from '../components/status.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import type { Alert, AlertPage, SloPage } from '../data/answers.ts'
import { usePages } from '../data/use-pages.ts'
import { counted } from '../format/quantity.ts'
import { AlertList } from '../panels/alert-list.tsx'

const EVERY_MS = 15_000

/** Alerts that are watched and well. */
const alertColumns: readonly Column<Alert>[] = [
  {
    name: 'name',
    title: 'Alert',
    sortBy: ({ name }) => name,
    cell: ({ name, hint }) => <span title={hint}>{name}</span>,
  },
  { name: 'subject', title: 'About', cell: ({ subject, site }) => [site, subject].filter(Boolean).join(' ') },
  {
    name: 'value',
    title: 'Value',
    isFigure: true,
    cell: ({ value, unit }) => (value === null ? 'no data' : <data value={value}>{`${value} ${unit}`}</data>),
  },
  { name: 'since', title: 'Ok since', sortBy: ({ since }) => since, cell: ({ since }) => <Time at={since} /> },
  { name: 'source', title: 'Source', cell: ({ source }) => source.replace('_', '-'), isMinor: true },
]

interface BurnRate {
  readonly slo: string
  readonly rate: SloStatus['burn_rates'][number]
}

const burnColumns: readonly Column<BurnRate>[] = [
  { name: 'slo', title: 'Objective', sortBy: ({ slo }) => slo, cell: ({ slo }) => slo },
  {
    name: 'state',
    title: 'State',
    cell: ({ rate: { is_burning: isBurning } }) => (
      <Status tone={isBurning ? 'bad' : 'good'}>{isBurning ? 'burning' : 'ok'}</Status>
    ),
  },
  {
    name: 'long',
    title: 'Rate, long window',
    isFigure: true,
    sortBy: ({ rate }) => rate.long_rate,
    cell: ({ rate }) => <Rate value={rate.long_rate} window={rate.long_window} />,
  },
  {
    name: 'short',
    title: 'Rate, short window',
    isFigure: true,
    sortBy: ({ rate }) => rate.short_rate,
    cell: ({ rate }) => <Rate value={rate.short_rate} window={rate.short_window} />,
  },
  { name: 'limit', title: 'Limit', isFigure: true, cell: ({ rate }) => <Rate value={rate.threshold} /> },
]

/** A multiple of the rate that would use up the budget just at the end of its window. */
function Rate({ value, window }: { readonly value: number; readonly window?: string }) {
  return (
    <data value={value} title={String(value)}>
      {`${value.toFixed(2)}×${window === undefined ? '' : ` in ${window}`}`}
    </data>
  )
}

const sloColumns: readonly Column<SloStatus>[] = [
  { name: 'name', title: 'Objective', sortBy: ({ name }) => name, cell: ({ name }) => name },
  { name: 'site', title: 'Site', cell: ({ site }) => site ?? 'all' },
  {
    name: 'kind',
    title: 'Kind',
    cell: ({ kind, threshold_ms: threshold }) => (threshold === null ? kind : `${kind} under ${threshold} ms`),
  },
  { name: 'objective', title: 'Objective', isFigure: true, cell: ({ objective }) => <Quantity value={objective} unit="ratio" /> },
  { name: 'ratio', title: 'Reached', isFigure: true, cell: ({ ratio }) => <Quantity value={ratio} unit="ratio" /> },
  {
    name: 'left',
    title: 'Error budget left',
    isFigure: true,
    sortBy: ({ budget_left: left }) => left ?? 1,
    cell: ({ budget_left: left }) => <Quantity value={left} unit="ratio" />,
  },
  {
    name: 'total',
    title: 'Requests',
    isFigure: true,
    isMinor: true,
    cell: ({ total }) => <Quantity value={total} unit="count" />,
  },
  { name: 'since', title: 'Counted since', isMinor: true, cell: ({ counted_since: since }) => <Time at={since} /> },
]

/** Service level objectives with their burn rates, and all alerts. */
export default function AlertsPage() {
  const alerts = usePages('/obs/alerts', (page: AlertPage) => page.alerts, { everyMs: EVERY_MS })
  const slos = usePages('/obs/slos', (page: SloPage) => page.slos, { everyMs: EVERY_MS })
  const none = (
    <Empty title="There are no objectives.">
      <code>[[obs.slos]]</code> of the configuration defines them.
    </Empty>
  )
  return (
    <>
      <Section title="Firing, pending or silenced">
        <Loaded resource={alerts} doing="load the alerts" rows={3}>
          {({ first: { evaluated_at: at, total }, rows }) => {
            const troubles = rows.filter(({ state, silence }) => state !== 'ok' || silence !== null)
            return (
              <>
                {troubles.length === 0 ? (
                  <Empty title="No alert fires.">{counted(total, 'alert')} watched.</Empty>
                ) : (
                  <AlertList alerts={troubles} onChanged={alerts.reload} />
                )}
                <p class="hint">
                  Evaluated <Time at={at} />
                </p>
              </>
            )
          }}
        </Loaded>
      </Section>
      <Section title="Objectives">
        <Loaded resource={slos} doing="load the objectives">
          {({ rows }) => (
            <>
              <Table
                label="Objectives"
                columns={sloColumns}
                rows={rows}
                more={slos.more}
                keyOf={({ name }) => name}
                empty={none}
                sortName="slos"
              />
              {rows.length > 0 && (
                <Table
                  label="Burn rates"
                  columns={burnColumns}
                  rows={rows.flatMap(({ name, burn_rates: rates }) => rates.map((rate) => ({ slo: name, rate })))}
                  keyOf={({ slo, rate }) => `${slo} ${rate.long_window}`}
                  empty={none}
                  sortName="rates"
                />
              )}
            </>
          )}
        </Loaded>
      </Section>
      <Section title="Ok">
        <Loaded resource={alerts} doing="load the alerts" rows={6}>
          {({ rows }) => (
            <Table
              label="Alerts that are ok"
              columns={alertColumns}
              rows={rows.filter(({ state, silence }) => state === 'ok' && silence === null)}
              more={alerts.more}
              keyOf={({ name, site, subject }) => `${name} ${site} ${subject}`}
              empty={<Empty title="No alert is ok.">The server evaluates them from half a minute after its start.</Empty>}
              sortName="alerts"
            />
          )}
        </Loaded>
      </Section>
    </>
  )
}
