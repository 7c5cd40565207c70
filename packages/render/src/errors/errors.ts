import { errorClass } from '@svc/core'

/** An error of the `render` package. */
export const RenderError = errorClass('RenderError', {
  /** The site's code threw. `data`: name, message, stack with source positions, digest. */
  RENDER_FAILED: { status: 500 },
  /** The render took longer than `render.timeout_ms`. */
  RENDER_TIMEOUT: { template: 'the render took longer than {timeoutMs} ms', status: 504, retryable: true },
  /** The isolate went past its memory limit while the request was in it. */
  RENDER_MEMORY: { status: 500 },
  /** The isolate was stopped because of another request, or its thread ended. */
  RENDER_ISOLATE_LOST: { status: 502, retryable: true },
  /** More renders are waiting for the site than `render.queue_max`. */
  RENDER_QUEUE_FULL: { status: 503, retryable: true },
  /** The request was matched with another manifest than the host has: ask for it and match again. */
  RENDER_STALE_MANIFEST: { status: 503, retryable: true },
  /** The host's generation does not have the site: a reload has moved it to another host, or taken it away. */
  RENDER_UNKNOWN_SITE: { status: 503, retryable: true },
  /** The manifest of the site has no such route. */
  RENDER_UNKNOWN_ROUTE: { template: 'no route {id} in the manifest', status: 404 },
  /** The host ends and takes no more renders. */
  RENDER_DRAINING: { status: 503, retryable: true },
  /** The first call on a connection was not a `hello` with the right token. */
  RENDER_UNAUTHORIZED: {},
  /** The guest bundle is missing or cannot be started. */
  RENDER_GUEST: { status: 500 },
  /** A `fetch` of a site went to an address that it may not reach. */
  RENDER_FETCH_REFUSED: {},
  /** A `fetch` of a site failed on the way: name, connection, redirects, size. */
  RENDER_FETCH_FAILED: {},
  RENDER_FETCH_TIMEOUT: {},
  /** The directory of the site could not be scanned: it took too long, or the scan crashed. `data`: reason. */
  RENDER_SCAN: { status: 503, retryable: true },
  /** The site is not served at all: it has two files of middleware. */
  RENDER_SITE_REFUSED: { status: 500 },
  /** Code of a site orders purges that are not valid, or more than can be carried out. */
  RENDER_PURGE_REFUSED: {},
  /** No heap snapshot could be taken. */
  RENDER_SNAPSHOT: { status: 409, retryable: true, exposable: true },
})
export type RenderError = InstanceType<typeof RenderError>
