import { hostKills } from './host-kills.ts'
import { hostileTenant } from './hostile-tenant.ts'
import { nginxDifferences } from './nginx-differences.ts'
import { pages, pagesSteady } from './pages.ts'
import type { SoakPart } from './soak-part.ts'
import { storeChurn } from './store-churn.ts'
import { storeJoins } from './store-joins.ts'
import { storeKills } from './store-kills.ts'
import { tlsCrash } from './tls-crash.ts'
import { tlsReload, tlsRenewals, vhostReloads } from './tls-reload.ts'

/** All parts of the soak by name, in the order in which they run. */
export const soakParts: Readonly<Record<string, SoakPart>> = {
  'store-kills': storeKills,
  'store-joins': storeJoins,
  'store-churn': storeChurn,
  'host-kills': hostKills,
  pages,
  'pages-steady': pagesSteady,
  'tls-reload': tlsReload,
  'tls-renewals': tlsRenewals,
  'vhost-reloads': vhostReloads,
  'tls-crash': tlsCrash,
  'nginx-differences': nginxDifferences,
  'hostile-tenant': hostileTenant,
}
