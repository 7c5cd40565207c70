import type { RequestBody } from '@svc/http'
import type { RenderReply, RenderRequest } from '@svc/protocol'
import type { SiteManifest } from '@svc/site'
import { scanSite } from '@svc/site/scan'
import type { Renderer, RenderHandle, RenderSink } from '../src/render-client/renderer.ts'

/** What a canned render gets. */
export interface CannedRender {
  readonly request: RenderRequest
  readonly body: RequestBody | undefined
  readonly sink: RenderSink
}

const took = { queueMs: 0, renderMs: 0 }

/** The reply of a streamed render. */
export const streamed: RenderReply = took

/** A reply with a head, the body goes beside it. */
export function complete(
  status = 200,
  headers: [string, string][] = [['content-type', 'text/html; charset=utf-8']],
): RenderReply {
  return { head: { status, headers }, ...took }
}

/** The reply of a middleware that does not answer itself. */
export function verdict(middleware: NonNullable<RenderReply['middleware']>): RenderReply {
  return { middleware, ...took }
}

/** Answers renders as a test says, and describes sites from their directories. */
export class CannedRenderer implements Renderer {
  /** All renders so far, in their order. */
  readonly requests: RenderRequest[] = []
  /** Ids of requests whose render was given up. */
  readonly aborted: string[] = []
  describes = 0
  /** `config.matcher` of every middleware. */
  matcher: unknown = null
  /** Version that the manifests of all sites get in place of their own. */
  version: string | undefined
  /** True if a host is connected. */
  isUp = true
  /** Holds back or refuses descriptions. */
  beforeDescribe: () => Promise<void> = async () => undefined
  answer: (render: CannedRender) => void = ({ request, sink }) => {
    const { pathname } = new URL(request.url)
    sink.complete(complete(), Buffer.from(`${request.kind} ${request.route} ${pathname}`))
  }
  readonly #rootOf: (site: string) => string

  constructor(rootOf: (site: string) => string) {
    this.#rootOf = rootOf
  }

  async describe(site: string): Promise<SiteManifest> {
    this.describes++
    await this.beforeDescribe()
    const manifest = scanSite({ root: this.#rootOf(site) })
    const middleware = manifest.middleware === null ? null : { ...manifest.middleware, matcher: this.matcher }
    return { ...manifest, middleware, version: this.version ?? manifest.version }
  }

  isReachable(): boolean {
    return this.isUp
  }

  render(request: RenderRequest, body: RequestBody | undefined, sink: RenderSink): RenderHandle {
    this.requests.push(request)
    let isAborted = false
    const unlessAborted =
      <Args extends unknown[]>(act: (...args: Args) => void) =>
      (...args: Args) => {
        if (!isAborted) act(...args)
      }
    this.answer({
      request,
      body,
      sink: {
        complete: unlessAborted((reply, bytes) => sink.complete(reply, bytes)),
        head: unlessAborted((head) => sink.head(head)),
        chunk: unlessAborted((bytes, ack) => sink.chunk(bytes, ack)),
        end: unlessAborted((reply) => sink.end(reply)),
        fail: unlessAborted((error) => sink.fail(error)),
      },
    })
    return {
      isWaiting: !this.isUp,
      abort: () => {
        if (!isAborted) this.aborted.push(request.requestId)
        isAborted = true
      },
    }
  }
}
