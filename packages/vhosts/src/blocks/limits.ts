import type { ReadingTools } from '../directives/directive-call.ts'
import * as limiting from '../directives/limiting.ts'
import type { ConnectionLimitSpec, GuardSpec, LimitZoneSpec, RequestLimitSpec } from '../spec/guard.ts'
import type { ServerSpec } from '../spec/spec.ts'
import { settingsOfServer } from '../spec/walk.ts'
import { formatPlace } from '../syntax/config-problem.ts'
import { shown } from '../syntax/vhost-problems.ts'
import type { Level } from './level.ts'

const UNAVAILABLE = 503

/** `limit_req` of a level. */
export function requestLimits(level: Level): RequestLimitSpec | undefined {
  const limits = level.nearest(limiting.limitReq)
  if (limits.length === 0) return undefined
  const status = level.value(limiting.limitReqStatus) ?? UNAVAILABLE
  return { limits, status, isDryRun: level.value(limiting.limitReqDryRun) ?? false }
}

/** `limit_conn` of a level. */
export function connectionLimits(level: Level): ConnectionLimitSpec | undefined {
  const limits = level.nearest(limiting.limitConn)
  if (limits.length === 0) return undefined
  const status = level.value(limiting.limitConnStatus) ?? UNAVAILABLE
  return { limits, status, isDryRun: level.value(limiting.limitConnDryRun) ?? false }
}

const NO_BYTES = ['0'] as const

/** `limit_rate` of a level. */
export function rateOf(level: Level): GuardSpec['rate'] {
  const limit = level.value(limiting.limitRate)
  const after = level.value(limiting.limitRateAfter)
  if (limit === undefined && after === undefined) return undefined
  return { limit: limit ?? NO_BYTES, after: after ?? NO_BYTES }
}

/** The zones of all files. */
export function readZones(main: Level): LimitZoneSpec[] {
  const known = new Map<string, limiting.WrittenZone>()
  for (const zone of [...main.own(limiting.limitReqZone), ...main.own(limiting.limitConnZone)]) {
    const before = known.get(zone.name)
    if (before === undefined) known.set(zone.name, zone)
    else
      zone.call.fail(
        `the zone "${shown(zone.name)}" is already declared`,
        undefined,
        `first at ${formatPlace(before.call.place)}`,
      )
  }
  return [...known.values()].map(({ name, id, key, maxBytes, rate }) => ({ name, id, key, maxBytes, rate }))
}

/** Reports limits whose zone does not exist, or counts something else, and two limits with one zone. */
export function checkZones(servers: readonly ServerSpec[], zones: readonly LimitZoneSpec[], { origins }: ReadingTools): void {
  const byName = new Map(zones.map((zone) => [zone.name, zone]))
  const checked = new Set<object>()
  const check = (limits: readonly { readonly zone: string }[], countsRequests: boolean) => {
    if (checked.has(limits)) return
    checked.add(limits)
    for (const [index, limit] of limits.entries()) {
      const call = origins.get(limit)
      if (checked.has(limit) || call === undefined) continue
      checked.add(limit)
      const name = shown(limit.zone)
      const zone = byName.get(limit.zone)
      const wanted = countsRequests ? 'limit_req_zone' : 'limit_conn_zone'
      if (zone === undefined) call.fail(`unknown zone "${name}" in "${call.name}" directive`, undefined, `${wanted} declares it`)
      else if ((zone.rate !== undefined) !== countsRequests) {
        call.fail(`the zone "${name}" is not declared by "${wanted}"`)
      } else if (limits.findIndex((other) => other.zone === limit.zone) !== index) {
        call.fail(`"${call.name}" directive is duplicate`)
      }
    }
  }
  for (const server of servers) {
    for (const { guard } of settingsOfServer(server)) {
      if (guard.requestLimits !== undefined) check(guard.requestLimits.limits, true)
      if (guard.connectionLimits !== undefined) check(guard.connectionLimits.limits, false)
    }
  }
}
