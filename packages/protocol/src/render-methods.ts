import { type Guarded, guard, method } from '@svc/core'

const headerList = guard.arrayOf(guard.anything) as guard.Guard<[name: string, value: string][]>
const params = guard.anything as guard.Guard<Record<string, string | string[]>>

/** The task of the guest for a request. */
const renderKind = guard.oneOf('page', 'handler', 'metadata', 'not-found', 'middleware', 'static-paths')

/** One request for a render host. A request body follows as chunks of the caller (`hasChunks`) once the host wants it. */
const renderRequest = guard.object({
  site: guard.string,
  /** Version of the manifest that the worker matched with; the host answers RENDER_STALE_MANIFEST when it has another. */
  manifestVersion: guard.string,
  kind: renderKind,
  /** Id of the route in the manifest; "" for middleware and for a not-found outside of any route. */
  route: guard.string,
  params,
  requestId: guard.string,
  method: guard.string,
  /** Absolute URL as the client sees it. */
  url: guard.string,
  headers: headerList,
  /** Client address after trusted proxies. */
  remoteAddress: guard.string,
  /** True if the answer may be streamed; false: it is collected whole and comes as bytes of the reply. */
  mayStream: guard.boolean,
  /** Fields that fetches of the site's code carry, to continue the trace of the request. */
  trace: guard.optional(headerList),
  /** The host says `begun` when it begins to work on this request. */
  reportsStart: guard.optional(guard.boolean),
})
export type RenderRequest = Guarded<typeof renderRequest>

/** Status and fields of a response. In a streamed answer it is the body of the first chunk. */
export const renderHead = guard.object({ status: guard.number, headers: headerList })
export type RenderHead = Guarded<typeof renderHead>

/**
 * Progress of a call that has no answer yet: the body of a chunk without bytes, ahead of the head. Without any such
 * report a call counts as begun from the moment that it was sent, unless it asked for `reportsStart`.
 *
 * `queued`: it waits, and none of the site's code has run for it. `begun`: the host works on it. `wants-body`: a thread has taken it;
 * only now is the request body sent, so that a host which refuses a request has taken nothing of it.
 */
export const renderProgress = guard.object({ progress: guard.oneOf('queued', 'begun', 'wants-body') })
export type RenderProgress = Guarded<typeof renderProgress>

/** Decision of a middleware. */
export const middlewareVerdict = guard.object({
  action: guard.oneOf('next', 'rewrite', 'respond'),
  /** For `rewrite`: the new absolute URL. */
  url: guard.optional(guard.string),
  /** Full set of request fields for what follows, when middleware changed them. */
  requestHeaders: guard.optional(headerList),
  /** Fields to set on the response, whatever answers. */
  responseHeaders: guard.optional(headerList),
})
export type MiddlewareVerdict = Guarded<typeof middlewareVerdict>

/** The parts of its request that a render read, and its wishes for caching. */
export const cacheFacts = guard.object({
  /** Any of: headers, cookies, query, host, no-store. */
  reads: guard.arrayOf(guard.string),
  tags: guard.arrayOf(guard.string),
  /** Seconds, 0 or false (for ever); undefined: the site's default. */
  revalidate: guard.anything as guard.Guard<number | false | undefined>,
})
export type CacheFacts = Guarded<typeof cacheFacts>

/**
 * The end of a render. `head` is set, with the body as bytes, when nothing was streamed; when it was streamed, the head was
 * the body of the first chunk and this reply only ends it.
 */
const renderReply = guard.object({
  head: guard.optional(renderHead),
  middleware: guard.optional(middlewareVerdict),
  cache: guard.optional(cacheFacts),
  /** Time spent waiting for a place in a pool. */
  queueMs: guard.number,
  /** Time from entering the isolate to the end of the body. */
  renderMs: guard.number,
})
export type RenderReply = Guarded<typeof renderReply>

/** Methods of a render host for a worker, over its unix socket. `hello` must come first. */
export const renderMethods = {
  hello: method(guard.object({ token: guard.string, worker: guard.number }), guard.object({ host: guard.string })),
  /** The frozen manifest of a site (`SiteManifest` of the site package) with middleware matchers filled in. */
  describe: method(
    guard.object({ site: guard.string, reportsStart: guard.optional(guard.boolean) }),
    guard.object({ manifest: guard.anything }),
  ),
  render: method(renderRequest, renderReply),
} as const

/** Methods of a worker for a render host: none so far. */
export const renderClientMethods = {} as const
