import { createHash } from 'node:crypto'
import type { Clock } from '@svc/core'
import type { ConnectionLimitSpec, GuardSpec, LimitZoneSpec, RequestLimitSpec } from '@svc/vhosts'
import type { ConnectionLimits, CountedRequest } from '../limits/connection-limits.ts'
import type { RequestLimits } from '../limits/request-limits.ts'
import { readForAnswer, type Templates } from './templates.ts'
import type { VariableInput } from './variable-input.ts'

/** The limits of a worker. */
export interface WorkerLimits {
  readonly requests: RequestLimits
  readonly connections: ConnectionLimits
  readonly clock: Pick<Clock, 'after'>
}

/** `$limit_req_status` and `$limit_conn_status`; "" where no limit has been applied. */
export interface LimitWords {
  requests: string
  connections: string
}

/** A request, as far as limits use it. */
export interface LimitedRequest {
  readonly input: VariableInput
  /** Of the client's request: each kind of limit applies to it once, in the first location that has some. */
  readonly words: LimitWords
  /** Keeps a count until the client's request has ended. */
  hold(counted: CountedRequest): void
  /** Calls the listener if the client disconnects. */
  onClosed(listener: () => void): void
}

/** 0: the request may go on. Else the status that refuses it. */
type LimitResult = number

/** The limits of a location. */
export type LimitCheck = (request: LimitedRequest, limits: WorkerLimits) => LimitResult | Promise<LimitResult>

/** Longest key that is sent as it is. */
const MAX_KEY = 64

/** Compiles `limit_req` and `limit_conn`; undefined: there are none. */
export function compileLimits(
  { requestLimits, connectionLimits }: GuardSpec,
  zones: ReadonlyMap<string, LimitZoneSpec>,
  templates: Templates,
): LimitCheck | undefined {
  const limitRequests = requestLimits && compileRequests(requestLimits, zones, templates)
  const limitConnections = connectionLimits && compileConnections(connectionLimits, zones, templates)
  if (limitRequests === undefined || limitConnections === undefined) return limitRequests ?? limitConnections
  return (request, limits) => {
    const first = limitRequests(request, limits)
    if (!(first instanceof Promise)) return first === 0 ? limitConnections(request, limits) : first
    return first.then((status) => (status === 0 ? limitConnections(request, limits) : status))
  }
}

/** The key of a request in a zone; "": the limit does not apply. */
type ReadKey = (input: VariableInput) => string

function keyReader({ key }: LimitZoneSpec, templates: Templates): ReadKey {
  const template = templates.of(key)
  return (input) => {
    const text = readForAnswer(input, template)
    return text.length <= MAX_KEY ? text : createHash('sha256').update(text, 'latin1').digest('base64')
  }
}

function compileRequests(
  { limits: specs, status, isDryRun }: RequestLimitSpec,
  zones: ReadonlyMap<string, LimitZoneSpec>,
  templates: Templates,
): LimitCheck {
  const limits = specs.flatMap(({ zone: name, burst, delay }) => {
    const zone = zones.get(name)
    if (zone?.rate === undefined) return []
    return { of: { zone: zone.id, rate: zone.rate, maxBytes: zone.maxBytes, burst, delay }, read: keyReader(zone, templates) }
  })
  return ({ input, words, onClosed }, { requests, clock }) => {
    if (words.requests !== '') return 0
    const applied = limits.map(({ of, read }) => ({ ...of, key: read(input) })).filter(({ key }) => key !== '')
    if (applied.length === 0) return 0
    const decided = requests.decide(applied)
    const settle = (delayMs: number | undefined): LimitResult | Promise<LimitResult> => {
      if (delayMs === undefined) {
        words.requests = isDryRun ? 'REJECTED_DRY_RUN' : 'REJECTED'
        return isDryRun ? 0 : status
      }
      words.requests = delayMs === 0 ? 'PASSED' : isDryRun ? 'DELAYED_DRY_RUN' : 'DELAYED'
      if (delayMs === 0 || isDryRun) return 0
      return new Promise((resolve) => {
        const cancel = clock.after(delayMs, () => resolve(0))
        onClosed(() => {
          cancel()
          resolve(CLIENT_CLOSED)
        })
      })
    }
    return decided instanceof Promise ? decided.then(settle) : settle(decided)
  }
}

/** The client disconnected while its request waited. */
const CLIENT_CLOSED = 499

function compileConnections(
  { limits: specs, status, isDryRun }: ConnectionLimitSpec,
  zones: ReadonlyMap<string, LimitZoneSpec>,
  templates: Templates,
): LimitCheck {
  const limits = specs.flatMap(({ zone: name, max }) => {
    const zone = zones.get(name)
    return zone === undefined ? [] : { zone: zone.id, max, read: keyReader(zone, templates) }
  })
  return ({ input, words, hold }, { connections }) => {
    if (words.connections !== '') return 0
    const applied = limits.map(({ zone, max, read }) => ({ zone, max, key: read(input) })).filter(({ key }) => key !== '')
    if (applied.length === 0) return 0
    const settle = (counted: CountedRequest | undefined): LimitResult => {
      if (counted !== undefined) {
        words.connections = 'PASSED'
        hold(counted)
        return 0
      }
      words.connections = isDryRun ? 'REJECTED_DRY_RUN' : 'REJECTED'
      return isDryRun ? 0 : status
    }
    const counted = connections.count(applied)
    return counted === undefined ? settle(undefined) : counted.then(settle)
  }
}
