import { Empty } from '../components/empty.tsx'
import { Loaded } from '../components/loaded.tsx'
import type { Alert } from '../data/answers.ts'
import { useResource } from '../data/use-resource.ts'
import { AlertList } from './alert-list.tsx'

const EVERY_MS = 15_000

/** The alerts that fire or are about to, with hints. Those that are silenced stand last. */
export function Alerts({ hasActions }: { readonly hasActions: boolean }) {
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
        const order = shown.toSorted((one, other) => Number(one.silence !== null) - Number(other.silence !== null))
        return <AlertList alerts={order} onChanged={hasActions ? alerts.reload : undefined} />
      }}
    </Loaded>
  )
}
