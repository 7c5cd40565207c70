import type { WebSpec } from '@svc/vhosts'
import type { Config } from '../schema/types.ts'
import { type Finding, findingIf } from '../values/finding.ts'
import { scheduleProblem } from '../values/schedule.ts'
import { checkRouteRules } from './route-rules.ts'
import { checkUniqueNames, type PlaceOf } from './unique-names.ts'

/** Checks values against each other. */
export function checkConfig(config: Config, web: WebSpec, placeOf: PlaceOf): Finding[] {
  return [
    ...checkAdmin(config),
    ...checkTls(config),
    ...checkSharedStore(config),
    ...checkRouteRules(config, new Set(web.upstreams.map(({ name }) => name))),
    ...checkObs(config),
    ...checkTasks(config, web),
    ...checkUniqueNames(config, placeOf),
  ]
}

const MIN_SECRET_BYTES = 32

/** The schema checks the beginning alone: it accepts the placeholders of the example file. */
const ARGON2ID = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/
/** Each login costs as much, also one with a wrong password. */
const MAX_HASH_COST = { memoryKib: 256 * 1024, passes: 10, lanes: 16 } as const

/** True if a login would take more memory or time than a client may cause. */
function isCostly(hash: string): boolean {
  const [, memoryKib = 0, passes = 0, lanes = 0] = (ARGON2ID.exec(hash) ?? []).map(Number)
  return memoryKib > MAX_HASH_COST.memoryKib || passes > MAX_HASH_COST.passes || lanes > MAX_HASH_COST.lanes
}

function checkUser(user: Config['admin']['users'][number], index: number): Finding[] {
  const path = ['admin', 'users', index, 'tenant_id']
  const isTenantAdmin = user.role === 'tenant_admin'
  return [
    ...findingIf(
      !ARGON2ID.test(user.password_hash),
      ['admin', 'users', index, 'password_hash'],
      'is no complete argon2id hash: expected "$argon2id$v=19$m=...,t=...,p=...$", then salt and hash in base64',
      '"svc config credentials hash" prints one',
    ),
    ...findingIf(
      isCostly(user.password_hash),
      ['admin', 'users', index, 'password_hash'],
      'costs too much at each login: at most m=262144 (256 MiB), t=10 and p=16 are allowed',
      '"svc config credentials hash" prints one',
    ),
    ...findingIf(isTenantAdmin && user.tenant_id === undefined, path, 'is required for role "tenant_admin"'),
    ...findingIf(!isTenantAdmin && user.tenant_id !== undefined, path, `role "${user.role}" has no tenant`),
  ]
}

/** Checks that tokens can be signed safely and that every user has the keys that its role needs. */
function checkAdmin({ admin }: Config): Finding[] {
  const secret = admin.jwt_secret
  const isShort = secret !== undefined && Buffer.byteLength(secret) < MIN_SECRET_BYTES
  return [
    ...findingIf(admin.enabled && secret === undefined, ['admin', 'jwt_secret'], 'is required when admin.enabled is true'),
    ...findingIf(isShort, ['admin', 'jwt_secret'], `must have at least ${MIN_SECRET_BYTES} bytes`),
    ...admin.users.flatMap(checkUser),
  ]
}

/** Checks that objectives and alerts have the thresholds that they need. */
function checkObs({ obs }: Config): Finding[] {
  const slos = obs.slos.flatMap((slo, index) =>
    findingIf(
      slo.kind === 'latency' && slo.threshold_ms === undefined,
      ['obs', 'slos', index, 'threshold_ms'],
      'is required for kind "latency"',
    ),
  )
  const alerts = obs.alerts.flatMap((alert, index) =>
    findingIf(
      (alert.above === undefined) === (alert.below === undefined),
      ['obs', 'alerts', index],
      'needs either "above" or "below"',
    ),
  )
  return [...slos, ...alerts]
}

/** Checks that schedules can be read, and that each task has a host. */
function checkTasks({ tasks, sites, apps }: Config, { servers }: WebSpec): Finding[] {
  return tasks.flatMap(({ schedule, host }, index) => {
    const problem = scheduleProblem(schedule)
    const hasHost = host !== undefined || sites.length + apps.length + servers.length > 0
    return [
      ...findingIf(problem !== undefined, ['tasks', index, 'schedule'], problem ?? ''),
      ...findingIf(!hasHost, ['tasks', index, 'host'], 'is required, since there is no site'),
    ]
  })
}

function checkSitePair(site: Config['sites'][number], index: number): Finding[] {
  const hasCert = site.tls_cert !== undefined
  const hasKey = site.tls_key !== undefined
  return [
    ...findingIf(hasCert && !hasKey, ['sites', index, 'tls_cert'], 'needs tls_key'),
    ...findingIf(hasKey && !hasCert, ['sites', index, 'tls_key'], 'needs tls_cert'),
  ]
}

/** Checks TLS settings against each other. */
function checkTls({ server, tls, sites }: Config): Finding[] {
  const hasCertificates = tls.auto || tls.certs.length > 0 || server.vhosts.length > 0 || sites.some((site) => site.tls_cert)
  return [
    ...findingIf(
      server.listen_tls !== undefined && !hasCertificates,
      ['server', 'listen_tls'],
      'no certificate is configured',
      'set tls.certs, tls.auto or tls_cert and tls_key of a site',
    ),
    ...sites.flatMap(checkSitePair),
  ]
}

/** Checks that settings that instances share have a shared store. */
function checkSharedStore({ redis, cache, rate_limit: rateLimit }: Config): Finding[] {
  if (redis.url !== undefined) return []
  return [
    ...findingIf(cache.isr.l2_enabled, ['cache', 'isr', 'l2_enabled'], 'needs redis.url'),
    ...findingIf(rateLimit.distributed, ['rate_limit', 'distributed'], 'needs redis.url'),
  ]
}
