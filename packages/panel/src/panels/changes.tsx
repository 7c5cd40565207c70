import { useMemo } from 'preact/hooks'
import type { Mark } from '../components/chart-options.ts'
import { Empty } from '../components/empty.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Status } from '../components/status.tsx'
import { Time } from '../components/time.tsx'
import type { Changes } from '../data/answers.ts'
import { useUser } from '../data/services.ts'
import { type Resource, useResource } from '../data/use-resource.ts'

const EVERY_MS = 30_000
/** The others are on the page of the audit log. */
const MAX_LISTED = 12

function nameOf({ kind, site, result }: Changes['changes'][number]): string {
  return `${kind}${site === null ? '' : ` of ${site}`}${result === 'ok' ? '' : ' failed'}`
}

/** The changes of the service in a window of time, and as marks of charts. A tenant_admin may not read them. */
export function useChanges(window: string): { readonly changes: Resource<Changes>; readonly marks: readonly Mark[] } {
  const isWanted = useUser().role !== 'tenant_admin'
  const changes = useResource<Changes>('/obs/changes', { query: { window }, everyMs: EVERY_MS, isWanted })
  const marks = useMemo(
    () => (changes.data?.changes ?? []).map((change) => ({ atSecs: Date.parse(change.at) / 1000, label: nameOf(change) })),
    [changes.data],
  )
  return { changes, marks }
}

/** Reloads, deployments, purges and the like, newest first. */
export function ChangeList({ changes }: { readonly changes: Resource<Changes> }) {
  return (
    <Loaded resource={changes} doing="load the changes">
      {({ changes: all, is_partial: isPartial }) =>
        all.length === 0 ? (
          <Empty title="Nothing was changed in this time.">Reloads, deployments, purges and restarts appear here.</Empty>
        ) : (
          <>
            <ul>
              {all.slice(0, MAX_LISTED).map((change, index) => (
                <li key={index}>
                  <Status tone={change.result === 'ok' ? 'idle' : 'bad'}>{nameOf(change)}</Status>{' '}
                  <small>
                    <Time at={change.at} />
                  </small>
                </li>
              ))}
            </ul>
            {(all.length > MAX_LISTED || isPartial) && (
              <p>
                <small>and {isPartial ? 'many' : all.length - MAX_LISTED} more</small>
              </p>
            )}
          </>
        )
      }
    </Loaded>
  )
}
