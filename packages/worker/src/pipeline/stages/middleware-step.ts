import { parseTarget } from '@svc/http'
import type { CacheFacts, MiddlewareVerdict } from '@svc/protocol'
import { isStaleManifest, type Renderer } from '../../render-client/renderer.ts'
import { ClientSink } from '../../request/client-sink.ts'
import { sendError, sendFailure } from '../../request/error-response.ts'
import {
  absoluteUrl,
  headersOfMiddleware,
  renderRequestOf,
  type SiteRequest,
  type SiteTarget,
  siteUrl,
} from '../../request/site-request.ts'

/**
 * Runs the middleware of a site. Resolves with the content to serve next, or with "answered" when middleware (or an error)
 * has answered, or with "stale" when the site has
 * changed and the manifest must be queried again. Middleware sees no request body: it would be gone for the route.
 */
export function runMiddleware(request: SiteRequest, renderer: Renderer): Promise<SiteTarget | 'answered' | 'stale'> {
  const { promise, resolve } = Promise.withResolvers<SiteTarget | 'answered' | 'stale'>()
  request.context.enter('middleware')
  const sink = new ClientSink(request.context, {
    failed(error) {
      if (!isStaleManifest(error)) sendFailure(request.context, error)
      resolve(isStaleManifest(error) ? 'stale' : 'answered')
    },
    completed: () => resolve('answered'),
  })
  renderer.runMiddleware(renderRequestOf(request, { kind: 'middleware', route: '', params: {} }), sink, (verdict, facts) => {
    request.context.enter('router', verdict.action)
    note(request, verdict, facts)
    resolve(apply(request, verdict))
  })
  return promise
}

/** Takes over the outcome of an earlier run for the same path and method, which read no more than these. False: there is none. */
export function recallMiddleware({ context, app, target }: SiteRequest): boolean {
  const fields = app.middlewareMemory.get(context.request.method, target.path, performance.now())
  if (fields === undefined) return false
  context.responseHeaders = fields
  return true
}

/** A run that read nothing of the request but path and method goes for all with the same; of any other the response is not L0's. */
function note({ context, app, target }: SiteRequest, verdict: MiddlewareVerdict, facts: CacheFacts | undefined): void {
  if (facts === undefined || facts.reads.length > 0) {
    context.withdrawFromL0()
    return
  }
  const { action, requestHeaders, responseHeaders = [] } = verdict
  const setsCookie = responseHeaders.some(([name]) => name.toLowerCase() === 'set-cookie')
  if (action !== 'next' || requestHeaders !== undefined || setsCookie) return
  app.middlewareMemory.add(context.request.method, target.path, responseHeaders, performance.now())
}

/** Applies the changes of middleware. A rewrite to another host would need a proxy and is refused. */
function apply({ context, target }: SiteRequest, verdict: MiddlewareVerdict): SiteTarget | 'answered' {
  context.responseHeaders = verdict.responseHeaders ?? []
  const { requestHeaders } = verdict
  const headers = requestHeaders === undefined ? target.headers : headersOfMiddleware(context, requestHeaders)
  if (verdict.action === 'next' || verdict.url === undefined) return { ...target, headers }
  const url = URL.parse(verdict.url)
  const parsed = url === null ? 'target_not_origin_form' : parseTarget(url.pathname + url.search)
  if (url === null || typeof parsed === 'string') {
    sendError(context, { status: 500, code: 'bad_rewrite', detail: 'Middleware rewrote to an invalid URL.' })
    return 'answered'
  }
  if (url.host !== URL.parse(target.url ?? absoluteUrl(context))?.host) {
    sendError(context, { status: 501, code: 'external_rewrite', detail: 'Middleware rewrote to another host.' })
    return 'answered'
  }
  return { url: siteUrl(url.origin, parsed), path: parsed.path, headers }
}
