import { ActionButton } from '../components/action-button.tsx'
import type { Action } from '../components/action-dialog.tsx'
import type { SiteDetails } from '../data/answers.ts'
import type { Api } from '../data/api.ts'
import { useServices } from '../data/services.ts'
import { counted, quantity } from '../format/quantity.ts'

/** The answer to a purge. */
export interface PurgeAnswer {
  readonly purged: number
  readonly also: Readonly<Record<string, number>>
  readonly workers: { readonly acked: number; readonly total: number }
}

/** The result of a purge in a sentence. */
export function purgeResult({ purged, also, workers }: PurgeAnswer, noun: string, plural?: string): string {
  const others = Object.values(also).reduce((sum, count) => sum + count, 0)
  const from = workers.total === 0 ? '' : `, ${workers.acked} of ${counted(workers.total, 'worker')} confirmed`
  return `Dropped ${counted(purged, noun, plural)} and ${counted(others, 'entry', 'entries')} of other layers${from}.`
}

function purgeOf({ id, label, cache: { isr } }: SiteDetails, api: Api): Action {
  return {
    label: 'Purge pages',
    isDestructive: true,
    effect: `Drops all rendered pages of ${id}: ${counted(isr.entries, 'page')}, ${quantity(isr.bytes, 'bytes').text}. Each is rendered again at its next request.`,
    run: async () => {
      const query = { pattern: `route:${label}:*` }
      return purgeResult(await api.send<PurgeAnswer>('POST', '/admin/api/cache/purge', undefined, query), 'page')
    },
  }
}

function flushOf({ id, isolates }: SiteDetails, api: Api): Action {
  return {
    label: 'Flush isolates',
    isDestructive: true,
    effect: `Replaces ${counted(isolates.length, 'isolate')} of ${id} and drops everything from its caches. Requests are slower until they are full again.`,
    run: async () =>
      purgeResult(await api.send<PurgeAnswer>('POST', `/admin/api/sites/${encodeURIComponent(id)}/flush`), 'isolate'),
  }
}

function maintenanceOf({ id, state, hostnames }: SiteDetails, api: Api): Action {
  const enabled = state !== 'maintenance'
  return {
    label: enabled ? 'Begin maintenance' : 'End maintenance',
    isDestructive: enabled,
    effect: enabled
      ? `Answers every request to ${counted(hostnames.length, 'host name')} of ${id} with 503 until you end it.`
      : `Lets ${id} answer requests again.`,
    run: async () => {
      await api.send('PUT', `/admin/api/sites/${encodeURIComponent(id)}/maintenance`, { enabled })
      return enabled ? `${id} is in maintenance.` : `${id} serves again.`
    },
  }
}

/** The operations on a site. */
export function SiteActions({ site, onDone }: { readonly site: SiteDetails; readonly onDone: () => void }) {
  const { api } = useServices()
  return (
    <>
      {[purgeOf, flushOf, maintenanceOf].map((make) => (
        <ActionButton key={make.name} needs="tenant_admin" action={make(site, api)} onDone={onDone} />
      ))}
    </>
  )
}
