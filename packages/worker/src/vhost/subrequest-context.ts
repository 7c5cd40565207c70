import { type BodyWriter, HttpError, type HttpExchange, type HttpRequest, noBody, type ResponseHead } from '@svc/http'
import { EventStreams } from '../request/event-streams.ts'
import { FlowLog } from '../request/flow-log.ts'
import { RequestContext } from '../request/request-context.ts'
import { rewrittenRequest } from '../request/rewritten-request.ts'

/** Bytes of a body that are read so that the connection to its upstream can be used again. */
const MAX_UNUSED_BYTES = 64 * 1024

/** A request that a location makes of its own server on behalf of a client: its head answers it, and its body is dropped. */
export class SubrequestExchange implements HttpExchange {
  readonly request: HttpRequest
  readonly body = noBody
  /** The head of the response. Never rejects; undefined: the client disconnected before there was one. */
  readonly head: Promise<ResponseHead | undefined>
  readonly #client: HttpExchange
  readonly #resolve: (head: ResponseHead | undefined) => void
  #hasHead = false
  #onClosed: ((isAborted: boolean) => void) | undefined
  #ending: 'none' | 'written' | 'aborted' = 'none'

  constructor(client: HttpExchange) {
    const { rawPath, path, query } = client.request
    this.request = rewrittenRequest(client.request, { rawPath, path, query, method: 'GET' })
    this.#client = client
    const { promise, resolve } = Promise.withResolvers<ResponseHead | undefined>()
    this.head = promise
    this.#resolve = resolve
  }

  respond(head: ResponseHead): void {
    this.#claim(head)
    this.#close('written')
  }

  stream(head: ResponseHead): BodyWriter {
    this.#claim(head)
    let unusedBytes = 0
    return {
      write: (chunk, onUnused) => {
        unusedBytes += chunk.byteLength
        onUnused?.()
        if (unusedBytes > MAX_UNUSED_BYTES) this.#close('aborted')
        return true
      },
      onDrain: () => undefined,
      end: () => this.#close('written'),
      abort: () => this.#close('aborted'),
    }
  }

  onClosed(listener: (isAborted: boolean) => void): void {
    if (this.#ending === 'none') this.#onClosed = listener
    else listener(this.#ending === 'aborted')
  }

  liftAnswerLimit(): void {
    this.#client.liftAnswerLimit()
  }

  liftBodyLimit(): void {
    // There is no body.
  }

  /** The client disconnected. */
  abort(): void {
    this.#close('aborted')
  }

  #claim(head: ResponseHead): void {
    if (this.#hasHead) throw new HttpError('HTTP_MISUSE', 'a second response was sent to a request')
    this.#hasHead = true
    this.#resolve(head)
  }

  #close(ending: 'written' | 'aborted'): void {
    if (this.#ending !== 'none') return
    this.#ending = ending
    this.#resolve(undefined)
    this.#onClosed?.(ending === 'aborted')
  }
}

/** Makes the contexts of subrequests. */
export class Subrequests {
  /** Subrequests have no flows of their own, and no client of theirs reads a stream. */
  readonly #flows = new FlowLog()
  readonly #eventStreams = new EventStreams()

  /** A context that is not logged by itself and keeps out of L0; its failures are those of the request. */
  contextOf(parent: RequestContext, exchange: SubrequestExchange): RequestContext {
    const { trace } = parent
    const context = new RequestContext(exchange, parent.generation, parent.client, {
      makeRequestId: () => parent.requestId,
      l0: { admission: undefined, takeOutcome: () => 'skip' },
      eventStreams: this.#eventStreams,
      flows: this.#flows,
      tracer: { isOn: trace !== undefined, begin: () => trace ?? unused(), record: unused },
      reportFailure: (_context, error, status) => parent.reportFailure(error, status),
    })
    exchange.onClosed((isAborted) => context.closed(isAborted))
    context.site = parent.site
    context.vhost = parent.vhost
    return context
  }
}

function unused(): never {
  throw new HttpError('HTTP_MISUSE', 'a subrequest has no trace of its own')
}
