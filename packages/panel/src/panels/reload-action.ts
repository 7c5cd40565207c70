import type { Action } from '../components/action-dialog.tsx'
import type { Api } from '../data/api.ts'
import { counted } from '../format/quantity.ts'

/** Changes as `GET config/diff` lists them. */
interface Changes {
  readonly sites: Readonly<Record<'added' | 'removed' | 'changed', readonly unknown[]>>
  readonly values: readonly unknown[]
}

interface ReloadAnswer {
  readonly generation: number
  readonly changed: Readonly<Record<string, number>>
  readonly needs_restart: readonly string[]
}

function effectOf({ sites, values }: Changes): string {
  const { added, removed, changed } = sites
  const sitesText = `${counted(added.length, 'site')} added, ${removed.length} removed, ${changed.length} changed`
  return `Puts the files into service on all workers: ${sitesText}; ${counted(values.length, 'value')} changed. No request fails; with an error nothing changes.`
}

/** Reloads the configuration. `changes`: undefined where they are found out first. */
export function reloadAction(api: Api, changes?: Changes): Action {
  return {
    label: 'Reload the configuration',
    effect: async () => effectOf(changes ?? (await api.get<Changes>('/admin/api/config/diff'))),
    async run() {
      const { generation, needs_restart: keys, changed } = await api.send<ReloadAnswer>('POST', '/admin/api/reload')
      const sites = Object.entries(changed).map(([kind, count]) => `${count} ${kind}`)
      const late = keys.length === 0 ? '' : ` These take effect after a restart: ${keys.join(', ')}.`
      return `Generation ${generation} is in service${sites.length === 0 ? '' : `; sites: ${sites.join(', ')}`}.${late}`
    },
  }
}
