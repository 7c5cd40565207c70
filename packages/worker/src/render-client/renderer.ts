import type { RequestBody } from '@svc/http'
import type { RenderHead, RenderReply, RenderRequest } from '@svc/protocol'
import type { SiteManifest } from '@svc/site'

/** Receives the answer of a render. Either `complete`, or `head`, any number of `chunk` and `end`, or at any point `fail`. */
export interface RenderSink {
  /** `body` is lent: whoever keeps it after the return keeps a copy. */
  complete(reply: RenderReply, body: Uint8Array | undefined): void
  head(head: RenderHead): void
  /** `ack` lets more come. */
  chunk(bytes: Uint8Array, ack: () => void): void
  end(reply: RenderReply): void
  /**
   * The last call. Errors carry a code; `RENDER_*` codes and their HTTP status come from the render host. With
   * RENDER_STALE_MANIFEST nothing of the request body has been read.
   */
  fail(error: Error): void
}

/** A render under way. */
export interface RenderHandle {
  /** True if it waits for a host, so that nothing has been done for it yet. */
  readonly isWaiting: boolean
  /** Gives it up: the sink is told nothing more. Does nothing once the render has ended. */
  abort(): void
}

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
  render(request: RenderRequest, body: RequestBody | undefined, sink: RenderSink): RenderHandle
}
