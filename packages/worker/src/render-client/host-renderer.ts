import { asError, codeOf, type RpcCall } from '@svc/core'
import type { RequestBody } from '@svc/http'
import { type RenderHead, type RenderReply, type RenderRequest, renderHead } from '@svc/protocol'
import { parseManifest, type SiteManifest } from '@svc/site'
import type { HostPeer } from './host-connection.ts'
import type { HostSet } from './host-set.ts'
import type { Renderer, RenderHandle, RenderSink } from './renderer.ts'

/** A streamed answer may last for days; the head has its own deadline in the engine and in the host. */
const NO_DEADLINE_MS = Number.POSITIVE_INFINITY
const DESCRIBE_TIMEOUT_MS = 15_000
/** How often a request without side effects is tried again when its host dies before the body began. */
const MAX_RETRIES = 1
/**
 * How a host refuses what it has not begun: because it is being replaced, or because a reload has just given the site to another
 * one while the request was on its way.
 */
const REFUSALS: ReadonlySet<string | undefined> = new Set(['RENDER_DRAINING', 'RENDER_UNKNOWN_SITE'])

/** Renders over sockets to the render hosts of a `HostSet`. */
export class HostRenderer implements Renderer {
  readonly #hosts: HostSet

  constructor(hosts: HostSet) {
    this.#hosts = hosts
  }

  async describe(site: string): Promise<SiteManifest> {
    for (let retries = 0; ; retries++) {
      try {
        const peer = await this.#hosts.peerFor(site)
        const reply = await peer.call('describe', { site }, { timeoutMs: DESCRIBE_TIMEOUT_MS })
        return parseManifest(reply.manifest)
      } catch (error) {
        const code = codeOf(error)
        if ((code !== 'CORE_PEER_GONE' && !REFUSALS.has(code)) || retries >= MAX_RETRIES) throw error
      }
    }
  }

  render(request: RenderRequest, body: RequestBody | undefined, sink: RenderSink): RenderHandle {
    const run = new RenderRun(this.#hosts, request, body, sink)
    run.start()
    return run
  }
}

/** One render from its first try to its end. */
class RenderRun implements RenderHandle {
  readonly #hosts: HostSet
  readonly #request: RenderRequest
  readonly #body: RequestBody | undefined
  readonly #sink: RenderSink
  #call: RpcCall<RenderReply> | undefined
  #retries = 0
  #hasHead = false
  #isAborted = false
  #hasReply = false

  constructor(hosts: HostSet, request: RenderRequest, body: RequestBody | undefined, sink: RenderSink) {
    this.#hosts = hosts
    this.#request = request
    this.#body = body
    this.#sink = sink
  }

  start(): void {
    const peer = this.#hosts.connectedPeer(this.#request.site)
    if (peer !== undefined) this.#send(peer)
    else this.#waitAndSend()
  }

  abort(): void {
    this.#isAborted = true
    this.#call?.abort()
  }

  #waitAndSend(): void {
    this.#hosts.peerFor(this.#request.site).then(
      (peer) => {
        if (!this.#isAborted) this.#send(peer)
      },
      (error) => {
        if (!this.#isAborted) this.#sink.fail(asError(error))
      },
    )
  }

  #send(peer: HostPeer): void {
    const hasBody = this.#body?.isPresent === true
    const call = peer.open('render', this.#request, {
      timeoutMs: NO_DEADLINE_MS,
      hasChunks: hasBody,
      onChunk: (head, bytes, ack) => this.#chunkArrived(head, bytes, ack),
      onReply: (reply, bytes) => this.#replied(reply as RenderReply, bytes),
    })
    this.#call = call
    call.reply.catch((error) => this.#failed(peer, asError(error)))
    if (hasBody && this.#body !== undefined) this.#sendBody(this.#body, call)
  }

  #chunkArrived(body: unknown, bytes: Uint8Array | undefined, ack: () => void): void {
    if (this.#isAborted) return
    if (!this.#hasHead) {
      this.#hasHead = true
      this.#sink.head(renderHead(body, 'head of a streamed render') as RenderHead)
    }
    if (bytes === undefined) ack()
    else this.#sink.chunk(bytes, ack)
  }

  #replied(reply: RenderReply, bytes: Uint8Array | undefined): void {
    if (this.#isAborted) return
    this.#hasReply = true
    if (!this.#hasHead) this.#sink.complete(reply, bytes)
    else {
      // The last piece of a stream comes with the reply, and is lent as a whole body is.
      if (bytes !== undefined) this.#sink.chunk(Buffer.from(bytes), nothing)
      this.#sink.end(reply)
    }
  }

  #failed(peer: HostPeer, error: Error): void {
    if (codeOf(error) === 'CORE_PEER_GONE') this.#hosts.callLost(peer, this.#request.site)
    if (this.#isAborted) return
    if (this.#mayRetry(error)) {
      this.#retries++
      this.#waitAndSend()
    } else this.#sink.fail(error)
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

  /** The client is told what was wrong with its body, unless it is gone or answered. */
  #bodyFailed(error: Error): void {
    if (this.#isAborted || this.#hasReply) return
    this.abort()
    if (codeOf(error) !== 'HTTP_ABORTED') this.#sink.fail(error)
  }

  /**
   * What a host has refused may go to the one that has the site by now, whatever the method. Else, by RFC 9110 section 9.2.2, only
   * a method without side effects is repeated without being asked to. A body cannot be sent twice.
   */
  #mayRetry(error: Error): boolean {
    if (this.#body?.isPresent === true || this.#hasHead || this.#retries >= MAX_RETRIES) return false
    const isSafe = this.#request.method === 'GET' || this.#request.method === 'HEAD'
    return REFUSALS.has(codeOf(error)) || (isSafe && codeOf(error) === 'CORE_PEER_GONE')
  }
}

function nothing(): void {
  // Nobody waits for room behind the last piece.
}
