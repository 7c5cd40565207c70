import type { ConfigValueFacts, ReloadPreview } from '@svc/protocol'
import type { ControlPlane } from '../src/index.ts'

/** Values of a configuration. */
export const configValues: readonly ConfigValueFacts[] = [
  { key: 'server.workers', value: '2', origin: 'file', place: '/etc/svc.toml:2', after_restart: '3' },
  { key: 'admin.jwt_secret', value: '"***"', origin: 'environment', place: 'environment variable X', after_restart: null },
  { key: 'cache.l0.enabled', value: 'true', origin: 'default', place: '', after_restart: null },
]

/** The changes of a reload. */
export const preview: ReloadPreview = {
  errors: [],
  notices: ['mind this'],
  sites: { added: ['docs'], removed: [], changed: ['shop'] },
  values: [{ key: 'server.workers', before: '2', after: '3', needs_restart: true }],
  ending: ['sites.shop.maintenance'],
  is_partial: false,
}

/** The values of a configuration, and the changes of its reload. */
export function configOf(calls: unknown[]): Pick<ControlPlane['instance'], 'values' | 'preview'> {
  return {
    values: async (query) => {
      calls.push({ values: query })
      const values = configValues.slice(query.skip, query.skip + query.limit)
      return { generation: 7, values: [...values], total: configValues.length }
    },
    preview: async () => preview,
  }
}
