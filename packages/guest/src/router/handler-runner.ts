import { NextRequest, observedRequest } from '../helpers/next-request.ts'
import type { ModuleExports } from '../page/module-exports.ts'
import type { GuestRoute } from '../page/page-input.ts'
import { applyConfig, mergeConfig } from '../page/segment-config.ts'
import { isKnownParams } from '../page/static-params.ts'
import { answerThrown } from '../page/thrown-answer.ts'
import { requireModule } from '../registry/registry.ts'
import type { GuestRequest } from '../request/guest-request.ts'
import { purgeBeforeAnswer, purgeBeforeFailure } from '../scope/pending-purges.ts'
import { readablePromise } from '../scope/readable-promise.ts'
import { openScope, type RequestScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'
import { emitResponse, isResponse } from './emit-response.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

type Handler = (request: NextRequest, context: { readonly params: object }) => unknown

/** Runs a route handler: kind `handler` of a request. */
export async function runHandler(guest: GuestRequest): Promise<void> {
  const scope = openScope(guest, 'handler')
  const route = guest.route as GuestRoute | undefined
  if (route === undefined) throw new RouterError('ROUTER_MISUSE', 'The request names no handler.')
  if (route.problem !== undefined) throw new RouterError('ROUTER_BAD_EXPORT', route.problem)
  const exports = requireModule(route.file)
  const handler = handlerOf(exports, guest.begin.method)
  if (handler === undefined) {
    answerWithoutHandler(guest, route.file, exports)
    return
  }
  const config = mergeConfig([[route.file, exports]])
  applyConfig(scope, config)
  // A handler's answer is kept only when its author says for how long.
  if (config.revalidate === undefined && config.dynamic !== 'force-static') guest.facts.limitRevalidate(0)
  const { params } = guest.begin
  if (!config.dynamicParams && !(await scope.run(() => isKnownParams([{ file: route.file, exports }], params)))) {
    guest.answer.complete({ status: 404, headers: [] }, '')
    return
  }
  await answer(scope, route.file, handler)
}

async function answer(scope: RequestScope, file: string, handler: Handler): Promise<void> {
  const { guest } = scope
  try {
    const result = await scope.run(() => handler(handlerRequest(scope), { params: readablePromise({ ...guest.begin.params }) }))
    if (!isResponse(result)) {
      throw new RouterError('ROUTER_BAD_EXPORT', `${file}: ${guest.begin.method} did not return a Response.`)
    }
    const purged = purgeBeforeAnswer(scope)
    if (purged !== undefined) await purged
    const cookies = scope.responseCookies.fields
    await scope.run(() => emitResponse(guest, result, { cookies, withBody: guest.begin.method !== 'HEAD' }))
  } catch (error) {
    answerThrown(guest, await purgeBeforeFailure(scope, error), file, scope.responseCookies.fields)
  }
}

/** The handler of a method; GET answers HEAD too. */
function handlerOf(exports: ModuleExports, method: string): Handler | undefined {
  if (!(methods as readonly string[]).includes(method)) return undefined
  const own = exports[method] ?? (method === 'HEAD' ? exports['GET'] : undefined)
  return typeof own === 'function' ? (own as Handler) : undefined
}

/** OPTIONS is answered from what there is; anything else gets 405 (RFC 9110, 15.5.6). */
function answerWithoutHandler(guest: GuestRequest, file: string, exports: ModuleExports): void {
  if (!methods.some((method) => handlerOf(exports, method) !== undefined)) {
    throw new RouterError(
      'ROUTER_BAD_EXPORT',
      `${file}: there is no handler. Export a function named GET, POST or another method.`,
    )
  }
  const allow = methods.filter((method) => method === 'OPTIONS' || handlerOf(exports, method) !== undefined).join(', ')
  guest.answer.complete({ status: guest.begin.method === 'OPTIONS' ? 204 : 405, headers: [['allow', allow]] }, '')
}

/** The request as site code gets it: it reports reads of its parts. A `force-static` handler sees neither query nor fields. */
export function handlerRequest(scope: RequestScope): NextRequest {
  const { guest } = scope
  if (scope.dynamic === 'force-static')
    return new NextRequest(scope.url.origin + scope.url.pathname, { method: guest.begin.method })
  const helper = { headers: 'request.headers', cookies: 'request.cookies', query: 'request.url', host: 'request.url' }
  return observedRequest(guest.request, (part) => scope.read(part, helper[part]))
}
