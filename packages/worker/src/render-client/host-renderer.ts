import { asError, codeOf, type RpcCall } from '@svc/core'
import type { HeaderList, RequestBody } from '@svc/http'
import { type RenderProgress, type RenderReply, type RenderRequest, renderHead, renderProgress } from '@svc/protocol'
import { parseManifest, type SiteManifest } from '@svc/site'
import { WorkerError } from '../errors/errors.ts'
import type { HostPeer } from './host-connection.ts'
import type { HostSet } from './host-set.ts'
import type { WaitingCall } from './host-waits.ts'
import type { OnVerdict, Renderer, RenderSink, RenderSource } from './renderer.ts'

/** A streamed response may last for days; the head has its own deadline in the engine and in the host. */
const NO_DEADLINE_MS = Number.POSITIVE_INFINITY
const DESCRIBE_TIMEOUT_MS = 15_000

/** Renders over sockets to the render hosts of a `HostSet`. */
export class HostRenderer implements Renderer {
  readonly #hosts: HostSet

  constructor(hosts: HostSet) {
    this.#hosts = hosts
  }

  describe(site: string): Promise<SiteManifest> {
    const { promise, resolve, reject } = Promise.withResolvers<SiteManifest>()
    const onChunk = (body: unknown) => {
      attempts.noted(renderProgress(body, 'progress of a site description'))
      return true
    }
    const attempts = new HostAttempts(this.#hosts, {
      site,
      send(peer, reportsStart) {
        const options = { timeoutMs: DESCRIBE_TIMEOUT_MS, onChunk }
        peer
          .call('describe', reportsStart ? { site, reportsStart } : { site }, options)
          .then(
            ({ manifest }) => resolve(parseManifest(manifest)),
            (error) => attempts.retry(peer, asError(error), { ifRefused: true, ifLost: true }),
          )
          .catch(reject)
      },
      fail: reject,
    })
    attempts.start()
    return promise
  }

  isReachable(site: string): boolean {
    return this.#hosts.connectedPeer(site) !== undefined
  }

  render(request: RenderRequest, body: RequestBody | undefined, sink: RenderSink): void {
    new RenderRun(this.#hosts, { request, body, sink, onVerdict: undefined }).start()
  }

  runMiddleware(request: RenderRequest, sink: RenderSink, onVerdict: OnVerdict): void {
    new RenderRun(this.#hosts, { request, body: undefined, sink, onVerdict }).start()
  }
}

/** The parts of one render. */
interface RenderOptions {
  readonly request: RenderRequest
  readonly body: RequestBody | undefined
  readonly sink: RenderSink
  /** undefined: only a response ends the render. */
  readonly onVerdict: OnVerdict | undefined
}

const noTrailers: HeaderList = []
const noBytes = new Uint8Array(0)

/** One render from its first try to its end. */
class RenderRun implements RenderSource, HostCall {
  readonly #attempts: HostAttempts
  readonly #request: RenderRequest
  readonly #body: RequestBody | undefined
  readonly #sink: RenderSink
  readonly #onVerdict: OnVerdict | undefined
  #call: RpcCall<RenderReply> | undefined
  #isBodyRead = false
  #hasHead = false
  #isAborted = false
  #hasReply = false
  #isQueued = false

  constructor(hosts: HostSet, { request, body, sink, onVerdict }: RenderOptions) {
    this.#request = request
    this.#body = body?.isPresent === true ? body : undefined
    this.#sink = sink
    this.#onVerdict = onVerdict
    this.#attempts = new HostAttempts(hosts, this)
  }

  get site(): string {
    return this.#request.site
  }

  get isWaiting(): boolean {
    return this.#attempts.isWaiting
  }

  start(): void {
    this.#sink.attach(this)
    if (!this.#isAborted) this.#attempts.start()
    if (this.isWaiting) this.#setQueued(true)
  }

  resume(): void {
    this.#call?.resume()
  }

  abort(): void {
    this.#isAborted = true
    this.#attempts.cancel()
    this.#call?.abort()
  }

  fail(error: Error): void {
    this.#sink.fail(error)
  }

  send(peer: HostPeer, reportsStart: boolean): void {
    const call = peer.open('render', reportsStart ? { ...this.#request, reportsStart } : this.#request, {
      timeoutMs: NO_DEADLINE_MS,
      hasChunks: this.#body !== undefined,
      onChunk: (head, bytes) => this.#chunkArrived(head, bytes),
      onReply: (reply, bytes) => this.#replied(reply as RenderReply, bytes),
    })
    this.#call = call
    this.#setQueued(false)
    call.reply.catch((error) => this.#failed(peer, asError(error)))
  }

  /** True if more may come. */
  #chunkArrived(body: unknown, bytes: Uint8Array | undefined): boolean {
    if (this.#isAborted) return true
    if (!this.#hasHead) {
      if (typeof body === 'object' && body !== null && 'progress' in body) {
        this.#progressed(body)
        return true
      }
      this.#hasHead = true
      this.#sink.head(renderHead(body, 'head of a streamed render'), undefined)
    }
    return this.#isAborted || bytes === undefined || bytes.byteLength === 0 || this.#sink.chunk(bytes)
  }

  /** Until a host wants the body, the engine keeps it and slows its sender down. */
  #progressed(body: unknown): void {
    const progress = renderProgress(body, 'progress of a render')
    this.#attempts.noted(progress)
    this.#setQueued(progress.progress === 'queued')
    if (progress.progress !== 'wants-body' || this.#isBodyRead) return
    if (this.#body === undefined || this.#call === undefined) return
    this.#isBodyRead = true
    this.#sendBody(this.#body, this.#call)
  }

  #setQueued(isQueued: boolean): void {
    if (isQueued === this.#isQueued || this.#isAborted) return
    this.#isQueued = isQueued
    this.#sink.queued(isQueued)
  }

  #replied(reply: RenderReply, bytes: Uint8Array | undefined): void {
    if (this.#isAborted) return
    this.#hasReply = true
    const { head, middleware, cache } = reply
    if (this.#hasHead) {
      // The last piece of a stream comes with the reply.
      if (bytes !== undefined && bytes.byteLength > 0) this.#sink.chunk(bytes)
      if (!this.#isAborted) this.#sink.end(noTrailers, cache)
    } else if (middleware !== undefined && middleware.action !== 'respond' && this.#onVerdict !== undefined) {
      this.#onVerdict(middleware, cache)
    } else if (head !== undefined) this.#sink.whole(head, bytes ?? noBytes, cache)
    else this.#sink.fail(new TypeError('the render host sent a response without a head'))
  }

  #failed(peer: HostPeer, error: Error): void {
    const isUntouched = !this.#isBodyRead && !this.#hasHead
    const { method } = this.#request
    const ifLost = isUntouched && (method === 'GET' || method === 'HEAD')
    this.#attempts.retry(peer, this.#asTold(error), { ifRefused: isUntouched, ifLost })
    if (this.isWaiting) this.#setQueued(true)
  }

  /** A stale manifest is answered by matching again, which cannot be done for a body that has been consumed. */
  #asTold(error: Error): Error {
    if (!this.#isBodyRead || codeOf(error) !== 'RENDER_STALE_MANIFEST') return error
    return new WorkerError('WORKER_SITE_UNSETTLED', `${this.site} changed while a request body was being sent to it`, {
      cause: error,
    })
  }

  /** Sends the request body as chunks of the call, no faster than the host takes them. */
  #sendBody(body: RequestBody, call: RpcCall<RenderReply>): void {
    body.read(
      (chunk, ack) => {
        if (call.write(chunk)) ack()
        else
          call.drained().then(
            () => ack(),
            () => undefined,
          )
      },
      (error) => {
        if (error === undefined) call.end()
        else this.#bodyFailed(error)
      },
    )
  }

  /** Reports the fault of its body to the client, unless it disconnected or has a response. */
  #bodyFailed(error: Error): void {
    if (this.#isAborted || this.#hasReply) return
    this.abort()
    if (codeOf(error) !== 'HTTP_ABORTED') this.#sink.fail(error)
  }
}

/** A call to whichever host serves a site. */
interface HostCall {
  readonly site: string
  /** Sends the call. `reportsStart`: the host has to say when it begins. */
  send(peer: HostPeer, reportsStart: boolean): void
  /** The end of it all. */
  fail(error: Error): void
}

/** The failures after which a call may be sent again. */
interface Repeatable {
  /** After a refusal: the host has taken nothing. */
  readonly ifRefused: boolean
  /** After a loss: the host may have carried it out (RFC 9110 section 9.2.2). */
  readonly ifLost: boolean
}

/** A call may begin on two hosts that die: a third one is not put at risk by a call that may be the cause. */
const MAX_BEGUN = 2

/**
 * Sends one call, waiting for a host where none is connected, and sends it again where that is safe: as often as hosts refuse it,
 * or die before they begin with it, and once when one dies that had begun. From the first wait on, all of it has one deadline.
 */
class HostAttempts implements WaitingCall {
  readonly #hosts: HostSet
  readonly #call: HostCall
  #deadlineAt: number | undefined
  #begun = 0
  #mayHaveBegun = true
  /** True if it waits for a host. */
  isWaiting = false
  #isEnded = false

  constructor(hosts: HostSet, call: HostCall) {
    this.#hosts = hosts
    this.#call = call
  }

  get site(): string {
    return this.#call.site
  }

  get deadlineAt(): number {
    this.#deadlineAt ??= performance.now() + this.#hosts.waitMs
    return this.#deadlineAt
  }

  /** Sends the call for the first time: at once if a host is connected. */
  start(): void {
    const peer = this.#hosts.connectedPeer(this.site)
    if (peer === undefined) this.#wait()
    else this.#call.send(peer, false)
  }

  connected(peer: HostPeer): void {
    this.isWaiting = false
    this.#again(peer)
  }

  failed(error: Error): void {
    this.isWaiting = false
    this.#end(error)
  }

  /** Takes in how far the host is. */
  noted({ progress }: RenderProgress): void {
    this.#mayHaveBegun = progress !== 'queued'
  }

  /** Sends the call again after a failure, or ends it with the error. */
  retry(peer: HostPeer, error: Error, may: Repeatable): void {
    const isLost = codeOf(error) === 'CORE_PEER_GONE'
    if (isLost && this.#mayHaveBegun) {
      this.#begun++
      this.#hosts.callLost(peer, this.site)
    }
    if (this.#isEnded) return
    const isRefused = this.#hosts.noteRefusal(peer, this.site, error)
    const mayRepeat = (isRefused && may.ifRefused) || (isLost && may.ifLost && this.#begun < MAX_BEGUN)
    if (!mayRepeat) {
      this.#end(error)
      return
    }
    const next = this.#hosts.connectedPeer(this.site)
    if (next === undefined) this.#wait()
    else if (performance.now() < this.deadlineAt) this.#again(next)
    else
      this.#end(
        new WorkerError('WORKER_NO_HOST', `every render host that was tried for ${this.site} disconnected`, { cause: error }),
      )
  }

  /** Nothing more is sent or reported. */
  cancel(): void {
    this.#isEnded = true
    this.#hosts.waits.remove(this)
  }

  #wait(): void {
    this.isWaiting = true
    this.#hosts.waits.add(this)
  }

  /** A host that has died may look connected for a moment: it has not begun until it says so. */
  #again(peer: HostPeer): void {
    this.#mayHaveBegun = false
    this.#call.send(peer, true)
  }

  #end(error: Error): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#call.fail(error)
  }
}
