import type { NextRequest } from '../helpers/next-request.ts'
import { answerRedirect } from '../page/thrown-answer.ts'
import { requireModule } from '../registry/registry.ts'
import type { GuestRequest } from '../request/guest-request.ts'
import { controlFlowOf } from '../scope/control-flow.ts'
import { purgeBeforeAnswer, purgeBeforeFailure } from '../scope/pending-purges.ts'
import { openScope, type RequestScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'
import { emitResponse, headOf, isResponse } from './emit-response.ts'
import { handlerRequest } from './handler-runner.ts'

type Middleware = (request: NextRequest, event: MiddlewareEvent) => unknown

/** Second argument of middleware. */
interface MiddlewareEvent {
  /** Work that may end after the answer; its failure goes to the site's log. */
  waitUntil(work: Promise<unknown>): void
}

/** Runs a site's middleware: kind `middleware` of a request. Ends with a verdict, or with an answer of its own. */
export async function runMiddleware(guest: GuestRequest): Promise<void> {
  const scope = openScope(guest, 'middleware')
  const file = guest.route?.file
  if (file === undefined) throw new RouterError('ROUTER_MISUSE', 'The request names no middleware.')
  const exports = requireModule(file)
  const run = exports['middleware'] ?? exports['proxy'] ?? exports['default']
  if (typeof run !== 'function') throw new RouterError('ROUTER_BAD_EXPORT', `${file}: there is no function to run as middleware.`)
  const event: MiddlewareEvent = { waitUntil: (work) => guest.after(() => work) }
  try {
    const result = await scope.run(() => (run as Middleware)(handlerRequest(scope), event))
    await purgeBeforeAnswer(scope)
    await scope.run(() => conclude(scope, result, file))
  } catch (thrown) {
    const error = await purgeBeforeFailure(scope, thrown)
    const flow = controlFlowOf(error)
    if (flow?.kind === 'redirect') answerRedirect(guest, flow, scope.responseCookies.fields)
    else guest.answer.fail(error, file)
  }
}

async function conclude(scope: RequestScope, result: unknown, file: string): Promise<void> {
  const { guest } = scope
  const cookies = scope.responseCookies.fields
  if (result === undefined || result === null) {
    const fields = cookies.map((cookie) => ['set-cookie', cookie])
    guest.answer.verdict({ action: 'next', ...changed('responseHeaders', fields) })
    return
  }
  if (!isResponse(result)) throw new RouterError('ROUTER_BAD_EXPORT', `${file}: middleware must return a Response or nothing.`)
  const rewrite = result.headers.get('x-middleware-rewrite')
  if (rewrite === null && result.headers.get('x-middleware-next') === null) {
    await emitResponse(guest, result, { cookies, withBody: guest.begin.method !== 'HEAD' })
    return
  }
  guest.answer.verdict({
    ...(rewrite === null ? { action: 'next' } : { action: 'rewrite', url: new URL(rewrite, guest.begin.url).href }),
    ...changed('requestHeaders', overriddenHeaders(result.headers)),
    ...changed('responseHeaders', headOf(result, cookies).headers),
  })
}

function changed(name: string, fields: readonly unknown[] | undefined): object {
  return fields === undefined || fields.length === 0 ? {} : { [name]: fields }
}

/** The full set of request fields that `NextResponse.next({request: {headers}})` names; undefined: unchanged. */
function overriddenHeaders(headers: Headers): readonly (readonly [string, string])[] | undefined {
  const names = headers.get('x-middleware-override-headers')
  if (names === null) return undefined
  return names.split(',').flatMap((name) => {
    const value = headers.get(`x-middleware-request-${name}`)
    return name === '' || value === null ? [] : [[name, value] as const]
  })
}
