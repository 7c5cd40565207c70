import type { WebSpec } from '@svc/vhosts'
import type { Config } from '../schema/types.ts'
import type { Finding } from '../values/finding.ts'
import { checkAdmin } from './admin.ts'
import { checkObs } from './obs.ts'
import { checkRouteRules } from './route-rules.ts'
import { checkSharedStore } from './shared-store.ts'
import { checkTls } from './tls.ts'
import { checkUniqueNames, type PlaceOf } from './unique-names.ts'

/** Checks what no single key shows: how values go together. */
export function checkConfig(config: Config, web: WebSpec, placeOf: PlaceOf): Finding[] {
  return [
    ...checkAdmin(config),
    ...checkTls(config),
    ...checkSharedStore(config),
    ...checkRouteRules(config, new Set(web.upstreams.map(({ name }) => name))),
    ...checkObs(config),
    ...checkUniqueNames(config, placeOf),
  ]
}
