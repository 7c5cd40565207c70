import type { RequestBody } from '@svc/http'
import type { RenderHead, RenderReply, RenderRequest } from '@svc/protocol'
import type { SiteManifest } from '@svc/site'
import { scanSite } from '@svc/site/scan'
import type { OnVerdict, Renderer, RenderSink, RenderSource } from '../src/render-client/renderer.ts'

/** Input of a canned render. */
export interface CannedRender {
  readonly request: RenderRequest
  readonly body: RequestBody | undefined
  readonly sink: CannedSink
}

const took = { queueMs: 0, renderMs: 0 }

/** The render host's side of one render: turns replies into calls of the sink, as the client of the hosts does. */
export class CannedSink implements RenderSource {
  readonly isWaiting: boolean
  readonly #sink: RenderSink
  readonly #onVerdict: OnVerdict | undefined
  readonly #onAborted: () => void
  /** Of chunks that the sink has not made room behind. */
  #acks: (() => void)[] = []
  #isAborted = false
  #hasEnded = false

  constructor(sink: RenderSink, isWaiting: boolean, onVerdict: OnVerdict | undefined, onAborted: () => void) {
    this.#sink = sink
    this.isWaiting = isWaiting
    this.#onVerdict = onVerdict
    this.#onAborted = onAborted
    sink.attach(this)
  }

  resume(): void {
    for (const ack of this.#acks.splice(0)) ack()
  }

  abort(): void {
    if (this.#hasEnded || this.#isAborted) return
    this.#isAborted = true
    this.#onAborted()
  }

  complete({ head, middleware, cache }: RenderReply, body: Uint8Array | undefined): void {
    if (this.#isAborted) return
    this.#hasEnded = true
    if (middleware !== undefined && middleware.action !== 'respond') this.#onVerdict?.(middleware, cache)
    else if (head === undefined) this.#sink.fail(new TypeError('the render host sent a response without a head'))
    else this.#sink.whole(head, body ?? new Uint8Array(0), cache)
  }

  head(head: RenderHead): void {
    if (!this.#isAborted) this.#sink.head(head, undefined)
  }

  /** `ack`: called once the sink has room for more. The bytes are spoilt when they are taken: they were lent. */
  chunk(bytes: Uint8Array, ack: () => void): void {
    if (this.#isAborted) return
    const lent = Buffer.from(bytes)
    const takesMore = this.#sink.chunk(lent)
    lent.fill(0)
    if (takesMore && this.#acks.length === 0) ack()
    else this.#acks.push(ack)
  }

  end({ cache }: RenderReply): void {
    if (this.#isAborted) return
    this.#hasEnded = true
    this.#sink.end([], cache)
  }

  fail(error: Error): void {
    if (this.#isAborted) return
    this.#hasEnded = true
    this.#sink.fail(error)
  }
}

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
  /** Ids of requests whose render was aborted. */
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

  render(request: RenderRequest, body: RequestBody | undefined, sink: RenderSink): void {
    this.#start(request, body, sink, undefined)
  }

  runMiddleware(request: RenderRequest, sink: RenderSink, onVerdict: OnVerdict): void {
    this.#start(request, undefined, sink, onVerdict)
  }

  #start(request: RenderRequest, body: RequestBody | undefined, sink: RenderSink, onVerdict: OnVerdict | undefined): void {
    this.requests.push(request)
    const canned = new CannedSink(sink, !this.isUp, onVerdict, () => this.aborted.push(request.requestId))
    this.answer({ request, body, sink: canned })
  }
}
