import { Empty } from '../components/empty.tsx'
import { Loaded } from '../components/loaded.tsx'
import type { AlertPage } from '../data/answers.ts'
import { useResource } from '../data/use-resource.ts'
import { counted } from '../format/quantity.ts'
import { AlertList } from './alert-list.tsx'

const EVERY_MS = 15_000

/** The alerts that fire or are about to, with hints. Those that are silenced stand last. */
export function Alerts({ hasActions }: { readonly hasActions: boolean }) {
  const alerts = useResource<AlertPage>('/obs/alerts', { everyMs: EVERY_MS })
  return (
    <Loaded resource={alerts} doing="load the alerts">
      {({ alerts: all, total }) => {
        const shown = all.filter(({ state }) => state !== 'ok')
        if (shown.length === 0) {
          return (
            <Empty title="No alert fires.">
              {counted(total, 'alert')} watched; <code>[[obs.alerts]]</code> of the configuration adds others.
            </Empty>
          )
        }
        const order = shown.toSorted((one, other) => Number(one.silence !== null) - Number(other.silence !== null))
        return (
          <>
            <AlertList alerts={order} onChanged={hasActions ? alerts.reload : undefined} />
            {/* Those that fire come first. */}
            {shown.length === all.length && shown.length < total && <p class="hint">More are on the page SLOs and alerts.</p>}
          </>
        )
      }}
    </Loaded>
  )
}
