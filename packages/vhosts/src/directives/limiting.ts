import type { ConnectionLimitSpec, LimitZoneSpec, RequestLimitSpec } from '../spec/guard.ts'
import type { Template } from '../spec/template.ts'
import { shown } from '../syntax/vhost-problems.ts'
import { parseCount, parseSize } from '../values/numbers.ts'
import type { DirectiveCall } from './directive-call.ts'
import { rule } from './rule.ts'

/** Eight pages, as nginx wants them. */
const MIN_ZONE_BYTES = 8 * 4096
/** Some millions of keys. */
const MAX_ZONE_BYTES = 1024 ** 3
const MINUTE_SECONDS = 60
/** More requests than any burst has. */
const NO_DELAY = 1e12

/** A zone and where it is written. */
export interface WrittenZone extends LimitZoneSpec {
  readonly call: DirectiveCall
}

function zoneOf(call: DirectiveCall, index: number): { name: string; maxBytes: number } | undefined {
  const [, name = '', size] = /^zone=([^:]*)(?::(.*))?$/.exec(call.arg(index)) ?? []
  const maxBytes = parseSize(size ?? '')
  if (maxBytes === undefined) return call.fail(`invalid zone size "${shown(call.arg(index))}"`, index)
  if (name === '') return call.fail(`"${call.name}" must have "zone" parameter`, index)
  if (maxBytes < MIN_ZONE_BYTES) return call.fail(`zone "${shown(name)}" is too small`, index)
  if (maxBytes > MAX_ZONE_BYTES) return call.fail(`zone "${shown(name)}" is larger than 1g`, index)
  return { name, maxBytes }
}

function rateOf(call: DirectiveCall, index: number): number | undefined {
  const [, digits = '', unit] = /^rate=(\d+)(r\/s|r\/m)?$/.exec(call.arg(index)) ?? []
  const rate = parseCount(digits) ?? 0
  if (rate === 0) return call.fail(`invalid rate "${shown(call.arg(index))}"`, index)
  return Math.trunc((rate * 1000) / (unit === 'r/m' ? MINUTE_SECONDS : 1))
}

function parseZone(call: DirectiveCall, isOfRequests: boolean): WrittenZone | undefined {
  const key = call.template(0)
  let zone: ReturnType<typeof zoneOf>
  let rate = isOfRequests ? 1000 : undefined
  for (let index = 1; index < call.args.length; index++) {
    const text = call.arg(index)
    if (text.startsWith('zone=')) {
      zone = zoneOf(call, index)
      if (zone === undefined) return undefined
    } else if (isOfRequests && text.startsWith('rate=')) {
      rate = rateOf(call, index)
      if (rate === undefined) return undefined
    } else return call.invalidParameter(index)
  }
  if (zone === undefined) return call.fail(`"${call.name}" must have "zone" parameter`)
  if (key === undefined) return undefined
  const id = `${isOfRequests ? 'requests' : 'connections'} ${zone.name} ${call.arg(0)}`
  return { ...zone, id, key, rate, call }
}

const zones = { in: ['main'], isMany: true } as const

/** `limit_req_zone`. */
export const limitReqZone = rule('limit_req_zone', { ...zones, args: 3, parse: (call) => parseZone(call, true) })

/** `limit_conn_zone`. */
export const limitConnZone = rule('limit_conn_zone', { ...zones, args: 2, parse: (call) => parseZone(call, false) })

function thousandths(call: DirectiveCall, index: number, name: string): number | undefined {
  const count = parseCount(call.arg(index).slice(name.length + 1)) ?? 0
  return count === 0 ? call.fail(`invalid ${name} value "${shown(call.arg(index))}"`, index) : count * 1000
}

/** `limit_req`. */
export const limitReq = rule<RequestLimitSpec['limits'][number]>('limit_req', {
  args: [1, 3],
  isMany: true,
  parse: (call) => {
    let [zone, burst, delay]: [string, number | undefined, number | undefined] = ['', 0, 0]
    for (let index = 0; index < call.args.length; index++) {
      const text = call.arg(index)
      if (text.startsWith('zone=')) zone = text.slice(5)
      else if (text.startsWith('burst=')) burst = thousandths(call, index, 'burst')
      else if (text.startsWith('delay=')) delay = thousandths(call, index, 'delay')
      else if (text === 'nodelay') delay = NO_DELAY
      else return call.invalidParameter(index)
    }
    if (zone === '') return call.fail(`"${call.name}" must have "zone" parameter`)
    return burst === undefined || delay === undefined ? undefined : { zone, burst, delay }
  },
})

const MAX_CONNECTIONS = 65_535

/** `limit_conn`. */
export const limitConn = rule<ConnectionLimitSpec['limits'][number]>('limit_conn', {
  args: 2,
  isMany: true,
  parse: (call) => {
    const max = parseCount(call.arg(1)) ?? 0
    if (max === 0) return call.fail(`invalid number of connections "${shown(call.arg(1))}"`, 1)
    if (max > MAX_CONNECTIONS) return call.fail('connection limit must be less 65536', 1)
    return { zone: call.arg(0), max }
  },
})

function status(call: DirectiveCall): number | undefined {
  const value = parseCount(call.arg(0)) ?? 0
  return value >= 400 && value <= 599 ? value : call.fail(`value "${shown(call.arg(0))}" must be between 400 and 599`, 0)
}

/** `limit_req_status`. */
export const limitReqStatus = rule('limit_req_status', { args: 1, parse: status })

/** `limit_conn_status`. */
export const limitConnStatus = rule('limit_conn_status', { args: 1, parse: status })

/** `limit_req_dry_run`. */
export const limitReqDryRun = rule('limit_req_dry_run', { args: 1, parse: (call) => call.flag(0) })

/** `limit_conn_dry_run`. */
export const limitConnDryRun = rule('limit_conn_dry_run', { args: 1, parse: (call) => call.flag(0) })

function size(call: DirectiveCall): Template | undefined {
  const text = call.arg(0)
  if (text.includes('$')) return call.template(0)
  const bytes = parseSize(text)
  return bytes === undefined ? call.invalidValue(0, 'expected a size such as 100k or 1m') : [String(bytes)]
}

/** `limit_rate`. */
export const limitRate = rule('limit_rate', { args: 1, parse: size })

/** `limit_rate_after`. */
export const limitRateAfter = rule('limit_rate_after', { args: 1, parse: size })
