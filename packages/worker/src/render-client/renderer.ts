import { codeOf } from '@svc/core'
import type { RequestBody, ResponseSink, ResponseSource } from '@svc/http'
import type { CacheFacts, MiddlewareVerdict, RenderRequest } from '@svc/protocol'
import type { SiteManifest } from '@svc/site'

/** A render in progress. */
export interface RenderSource extends ResponseSource {
  /** True if it waits for a host, so that nothing has been done for it yet. */
  readonly isWaiting: boolean
}

/**
 * Receives the response of a render, and with its end the render's facts for the caches (undefined: none). Errors carry a
 * code; `RENDER_*` codes and their HTTP status come from the render host. With RENDER_STALE_MANIFEST nothing of the request body has
 * been read.
 */
export interface RenderSink extends ResponseSink<CacheFacts | undefined, RenderSource> {
  /** The render begins to wait for a host, or for a place in one (true), or is taken up (false). Only before the head. */
  queued(isWaiting: boolean): void
}

/** Receives the decision of middleware that does not respond itself. Nothing follows. */
export type OnVerdict = (verdict: MiddlewareVerdict, facts: CacheFacts | undefined) => void

/**
 * Renders sites somewhere else: over sockets to render hosts, or canned in tests. May be called concurrently. Nothing
 * throws: failures go to the sink or reject.
 */
export interface Renderer {
  /** The manifest of a site, as the host that renders it sees it. Not cached here. */
  describe(site: string): Promise<SiteManifest>
  /** True if a host of the site is connected, so that nothing has to wait for one. */
  isReachable(site: string): boolean
  /** Starts a render. `body`, if the request has one, is read when a host has taken the request. */
  render(request: RenderRequest, body: RequestBody | undefined, sink: RenderSink): void
  /** Runs the middleware of a site, which responds or decides on the content. It gets no request body. */
  runMiddleware(request: RenderRequest, sink: RenderSink, onVerdict: OnVerdict): void
}

/** True if a render was refused because the site's files have changed since its manifest, with which the request was matched. */
export function isStaleManifest(error: Error): boolean {
  return codeOf(error) === 'RENDER_STALE_MANIFEST'
}
