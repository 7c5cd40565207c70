import { TransientMap } from '@svc/core/transient-map'
import { runInContext } from '../context/context.ts'
import type { BeginKind, BeginRequest, InspectRequest } from '../contract/isolate.ts'
import { GuestError } from '../host/errors.ts'
import { DOMException } from '../prelude/events/dom-exception.ts'
import { dropFetchesOf } from '../prelude/fetch/fetch.ts'
import { clearTimersOf } from '../prelude/time/timers.ts'
import { beginAttempt } from '../registry/registry.ts'
import { inspectModules } from './inspect-modules.ts'
import { routeOf } from './routes.ts'
import { runnerOf } from './runners.ts'
import { RunningRequest } from './running-request.ts'

const running = new TransientMap<number, RunningRequest>()

function run(request: RunningRequest): void {
  const runner = runnerOf(request.kind)
  if (runner === undefined) throw new GuestError('GUEST_NO_RUNNER', `nothing runs requests of kind ${request.kind}`)
  const outcome = runner(request)
  if (outcome !== undefined) Promise.resolve(outcome).catch((error: unknown) => request.fail(error))
}

/** Starts a request of the host. Reports by `emit` only. */
export function beginRequest(number: number, kind: BeginKind, routeId: string, json: string): void {
  beginAttempt()
  if (kind === 'inspect') {
    inspectModules(number, JSON.parse(json) as InspectRequest)
    return
  }
  const begin = JSON.parse(json) as BeginRequest
  const request = new RunningRequest({ number, kind, begin, route: routeOf(routeId), onEnd: () => running.delete(number) })
  running.set(number, request)
  runInContext(request.context, () => {
    try {
      run(request)
    } catch (error) {
      request.fail(error)
    }
  })
}

/** Hands a piece of a request's body over; undefined ends it. Unknown numbers are ignored: the request is over. */
export function takeBodyChunk(number: number, bytes: ArrayBuffer | undefined): void {
  running.get(number)?.takeBody(bytes)
}

export function holdRequest(number: number): void {
  running.get(number)?.hold()
}

export function resumeRequest(number: number): void {
  running.get(number)?.resume()
}

/** Gives a request up, with its timers and fetches. */
export function abortRequest(number: number): void {
  const request = running.get(number)
  if (request !== undefined) {
    clearTimersOf(request)
    runInContext(request.context, () => request.abort())
  }
  // The host has let go of them, also of those that a request left behind which has ended here meanwhile.
  dropFetchesOf(number, request?.signal.reason ?? new DOMException('The request is over', 'AbortError'))
}
