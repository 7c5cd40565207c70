import type { AuditRecord } from '@svc/protocol'
import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { fitting } from '../../contract/pages.ts'
import { oneOf, success } from '../../contract/schemas.ts'

const windowsSecs = { '5m': 300, '1h': 3600, '24h': 86_400, '7d': 604_800 } as const
/** Records that are read. The master reads its files for them. */
const MAX_RECORDS = 500

const kinds = ['reload', 'deploy', 'rollback', 'purge', 'flush', 'restart', 'maintenance', 'stop', 'setting'] as const
type Kind = (typeof kinds)[number]

/** Words of an operation, in the order in which they decide. */
const words: readonly (readonly [word: RegExp, kind: Kind])[] = [
  [/rollback/, 'rollback'],
  [/deploy/, 'deploy'],
  [/reload/, 'reload'],
  [/flush/i, 'flush'],
  [/restart/, 'restart'],
  [/maintenance/, 'maintenance'],
  [/purge|invalidate|resetApp|DELETE .*cache\/entries/, 'purge'],
  [/^svc stop/, 'stop'],
  [/waf|tasks|plugins|upstreams|resetOverride/, 'setting'],
]
/** Operations that change nothing of the service itself. */
const aside = /^GET|\/(?:login|logout|session|sessions|tokens|validate|warm|revalidate|upload|waf\/test|run)(?:\/|$)/

/** The site that an operation was about. A record keeps the beginning of its target alone. */
function siteOf({ target }: AuditRecord, ids: ReadonlySet<string>): string | null {
  try {
    const { site, id } = JSON.parse(target) as { readonly site?: unknown; readonly id?: unknown }
    const found = [site, id].find((one) => typeof one === 'string' && ids.has(one))
    return typeof found === 'string' ? found : null
  } catch {
    return null
  }
}

function kindOf({ action, result }: AuditRecord): Kind | undefined {
  if (result === 'denied' || aside.test(action)) return undefined
  return words.find(([word]) => word.test(action))?.[1]
}

export const changes = endpoint({
  method: 'GET',
  path: '/__svc/obs/changes',
  group: 'obs',
  access: 'viewer',
  // Operations on the whole instance are among them.
  isForTenants: false,
  summary: 'Lists operations that changed the service, newest first.',
  query: () =>
    z.strictObject({ window: z.optional(oneOf(['5m', '1h', '24h', '7d'], 'The window of time; 1h if it is left out.')) }),
  response: () =>
    success({
      changes: z.array(
        z.object({
          at: z.iso.datetime(),
          kind: z.enum(kinds),
          site: z.nullable(z.string()),
          result: z.enum(['ok', 'failed']),
        }),
      ),
      is_partial: z.boolean(),
    }),
  async handle({ audit, sites }, { query: { window = '1h' } }) {
    const ids = new Set(sites.list().map(({ id }) => id))
    const sinceMs = Date.now() - windowsSecs[window] * 1000
    const { entries: recent, cursor } = await audit.page({ limit: MAX_RECORDS, sinceMs })
    const listed = recent.flatMap((record) => {
      const kind = kindOf(record)
      return kind === undefined ? [] : [{ at: record.at, kind, site: siteOf(record, ids), result: record.result }]
    })
    const shown = fitting(listed)
    return ok({ changes: shown, is_partial: cursor !== null || shown.length < listed.length })
  },
})
