import { useMemo } from 'preact/hooks'
import type { Mark } from '../components/chart-options.ts'
import { Empty } from '../components/empty.tsx'
import { Link } from '../components/link.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Status } from '../components/status.tsx'
import { Time } from '../components/time.tsx'
import { type Changes, sitePath } from '../data/answers.ts'
import { useUser } from '../data/services.ts'
import { type Resource, useResource } from '../data/use-resource.ts'

const EVERY_MS = 30_000
/** The others are on the page of the audit log. */
const MAX_LISTED = 12

type Change = Changes['changes'][number]

function ChangeName({ change, href }: { readonly change: Change; readonly href: string | undefined }) {
  return href === undefined ? nameOf(change) : <Link href={href}>{nameOf(change)}</Link>
}

function nameOf({ kind, site, result }: Change): string {
  return `${kind}${site === null ? '' : ` of ${site}`}${result === 'ok' ? '' : ' failed'}`
}

/**
 * The changes of the service in a window of time, and as marks of charts: of one site and of the whole instance, or all. A tenant_admin
 * may not read them.
 */
export function useChanges(
  window: string,
  site?: string,
): { readonly changes: Resource<Changes>; readonly marks: readonly Mark[] } {
  const isWanted = useUser().role !== 'tenant_admin'
  const changes = useResource<Changes>('/obs/changes', { query: { window }, everyMs: EVERY_MS, isWanted })
  const marks = useMemo(
    () =>
      (changes.data?.changes ?? [])
        .filter((change) => site === undefined || change.site === null || change.site === site)
        .map((change) => ({ atSecs: Date.parse(change.at) / 1000, label: nameOf(change) })),
    [changes.data, site],
  )
  return { changes, marks }
}

/** The page that shows a change best. */
function pageOf({ kind, site }: Change): string | undefined {
  if (site !== null) return `${sitePath(site)}${kind === 'deploy' || kind === 'rollback' ? '&tab=releases' : ''}`
  const names: Readonly<Record<string, string>> = { reload: 'configuration', restart: 'workers', purge: 'caches' }
  const name = names[kind]
  return name === undefined ? undefined : `/__svc/admin/${name}`
}

interface ChangeListProps {
  readonly changes: Resource<Changes>
  readonly hasLinks: boolean
}

/** Reloads, deployments, purges and the like, newest first. */
export function ChangeList({ changes, hasLinks }: ChangeListProps) {
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
                  <Status tone={change.result === 'ok' ? 'idle' : 'bad'}>
                    <ChangeName change={change} href={hasLinks ? pageOf(change) : undefined} />
                  </Status>{' '}
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
