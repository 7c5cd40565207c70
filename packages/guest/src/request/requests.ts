import { TransientMap } from '@svc/core/transient-map'
import type { Route } from '@svc/site'
import { runInContext } from '../context/context.ts'
import { jsonOf, OwnMap, parse } from '../context/primordials.ts'
import { type BeginKind, type BeginRequest, Emit, type InspectRequest } from '../contract/isolate.ts'
import { GuestError, host } from '../host/host.ts'
import { emittedError } from '../host/site-log.ts'
import { DOMException } from '../prelude/events/dom-exception.ts'
import { dropFetchesOf } from '../prelude/fetch/fetch.ts'
import { clearTimersOf } from '../prelude/time/timers.ts'
import { beginAttempt, requireModule } from '../registry/registry.ts'
import { GuestRequest, type Runner } from './guest-request.ts'

const routes = new Map<string, Route>()

/** Defines or replaces a route. */
export function defineRoute(route: Route): void {
  routes.set(route.id, route)
}

export function forgetRoutes(): void {
  routes.clear()
}

const runners = new Map<BeginKind, Runner>()

/** Sets what runs requests of a kind. */
export function registerRunner(kind: BeginKind, run: Runner): void {
  runners.set(kind, run)
}

/** Exports that configure a module. */
const configNames = [
  'config',
  'dynamic',
  'dynamicParams',
  'fetchCache',
  'maxDuration',
  'preferredRegion',
  'revalidate',
  'runtime',
] as const

/** True if a value survives JSON as it is; functions and class instances do not. */
function isPlainData(value: unknown, depth = 0): boolean {
  if (value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value)) return true
  if (typeof value !== 'object' || depth > 10) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = Array.isArray(value) || prototype === Object.prototype || prototype === null
  return isPlain && Object.values(value).every((item) => isPlainData(item, depth + 1))
}

function configOf(id: string): Record<string, unknown> {
  const namespace = requireModule(id)
  const found: Record<string, unknown> = {}
  for (const name of configNames) {
    if (!(name in namespace)) continue
    const value = namespace[name]
    if (isPlainData(value)) found[name] = value
  }
  return found
}

/** Runs modules and reports their config exports; a module that throws fails the request. */
function inspectModules(requestNumber: number, request: InspectRequest): void {
  try {
    const modules = Object.fromEntries(request.modules.map((id) => [id, configOf(id)]))
    host().emit(requestNumber, Emit.finished, jsonOf({ reads: [], tags: [], modules }), undefined)
  } catch (error) {
    host().emit(requestNumber, Emit.failed, jsonOf(emittedError(error)), undefined)
  }
}

const running = new TransientMap<number, GuestRequest>(new OwnMap())

function run(request: GuestRequest): void {
  const runner = runners.get(request.kind)
  if (runner === undefined) throw new GuestError('GUEST_NO_RUNNER', `nothing runs requests of kind ${request.kind}`)
  const outcome = runner(request)
  if (outcome !== undefined) Promise.resolve(outcome).catch((error: unknown) => request.answer.fail(error))
}

/** Starts a request of the host. Reports by `emit` only. */
export function beginRequest(number: number, kind: BeginKind, routeId: string, json: string): void {
  beginAttempt()
  if (kind === 'inspect') {
    // In a context of its own: a module may enter a store while it is evaluated.
    runInContext({ request: undefined, stores: undefined }, () => inspectModules(number, parse(json) as InspectRequest))
    return
  }
  const begin = parse(json) as BeginRequest
  const request = new GuestRequest({ number, kind, begin, route: routes.get(routeId), onEnd: () => running.delete(number) })
  running.set(number, request)
  runInContext(request.context, () => {
    try {
      run(request)
    } catch (error) {
      request.answer.fail(error)
    }
  })
}

/** Hands a piece of a request's body over; undefined ends it. Unknown numbers are ignored: the request has ended. */
export function takeBodyChunk(number: number, bytes: ArrayBuffer | undefined): void {
  running.get(number)?.takeBody(bytes)
}

export function holdRequest(number: number): void {
  running.get(number)?.answer.hold()
}

export function resumeRequest(number: number): void {
  running.get(number)?.answer.resume()
}

/** Gives a request up, with its timers and fetches. */
export function abortRequest(number: number): void {
  const request = running.get(number)
  if (request !== undefined) {
    clearTimersOf(request)
    runInContext(request.context, () => request.abort())
  }
  // The host has dropped them, also those of a request that has ended here meanwhile.
  dropFetchesOf(number, request?.signal.reason ?? new DOMException('The request has ended', 'AbortError'))
}
