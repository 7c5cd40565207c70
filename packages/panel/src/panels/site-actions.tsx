import { ActionButton } from '../components/action-button.tsx'
import type { Action } from '../components/action-dialog.tsx'
import type { SiteDetails } from '../data/answers.ts'
import type { Api } from '../data/api.ts'
import { useServices } from '../data/services.ts'
import { counted, quantity } from '../format/quantity.ts'
import { type PurgeAnswer, purgeResult } from './purge-actions.ts'

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
    fields: enabled ? [{ name: 'message', label: 'Message to visitors (optional)', maxLength: 500 }] : [],
    run: (_progress, { message = '' }) => setMaintenance(api, id, enabled, message),
    undo: () => setMaintenance(api, id, !enabled, ''),
  }
}

async function setMaintenance(api: Api, id: string, enabled: boolean, message: string): Promise<string> {
  const text = enabled && message !== '' ? { message } : {}
  await api.send('PUT', `/admin/api/sites/${encodeURIComponent(id)}/maintenance`, { enabled, ...text })
  return enabled ? `${id} is in maintenance.` : `${id} serves again.`
}

function deployOf({ id, hostnames }: SiteDetails, api: Api): Action {
  return {
    label: 'Deploy',
    effect: `Prepares and warms a release of ${id}, then serves it on ${hostnames.join(', ') || 'its hosts'} in place of the live one. With an error the live one stays.`,
    fields: [{ name: 'source', label: 'Directory or .tar.gz on the server', isRequired: true, maxLength: 4096 }],
    run: async (progress, { source = '' }) => {
      progress('The release is prepared and warmed.')
      const { release } = await api.send<{ readonly release: { readonly id: string } }>('POST', '/admin/api/deploys', {
        site: id,
        source,
      })
      return `${id} serves the release ${release.id}.`
    },
  }
}

/** The operations on a site. */
export function SiteActions({ site, onDone }: { readonly site: SiteDetails; readonly onDone: () => void }) {
  const { api } = useServices()
  return (
    <>
      {[deployOf, purgeOf, flushOf, maintenanceOf].map((make) => (
        <ActionButton key={make.name} needs="tenant_admin" action={make(site, api)} onDone={onDone} />
      ))}
    </>
  )
}
