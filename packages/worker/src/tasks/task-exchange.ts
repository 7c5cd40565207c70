import {
  type BodyWriter,
  type HeaderList,
  HttpError,
  type HttpExchange,
  type HttpRequest,
  noBody,
  parseTarget,
  type ResponseHead,
} from '@svc/http'
import type { TaskResponse } from '@svc/protocol'

/** The parts of a request that the service makes of itself. */
interface OwnRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly listener: string
  /** Lower-case names. */
  readonly headers: HeaderList
}

/** @throws HTTP_BAD_TARGET */
function requestOf({ method, target, scheme, host, listener, headers }: OwnRequest): HttpRequest {
  const parsed = parseTarget(target)
  if (typeof parsed === 'string') throw new HttpError('HTTP_MISUSE', `${target} is not the target of a request: ${parsed}`)
  const all: HeaderList = [['host', host], ...headers]
  return {
    ...parsed,
    method,
    target,
    scheme,
    host,
    listener,
    headers: all,
    httpVersion: '1.1',
    // As of a client without an address: it is neither loopback nor any one's.
    remoteAddress: '',
    header: (name) => all.find(([known]) => known === name)?.[1],
  }
}

/** A request that the service makes of itself, without a connection. The body of the response is dropped. */
export class TaskExchange implements HttpExchange {
  readonly request: HttpRequest
  readonly body = noBody
  /** Never rejects. Status 0: the response broke off. */
  readonly response: Promise<TaskResponse>
  readonly #resolve: (response: TaskResponse) => void
  #head: ResponseHead | undefined
  #onClosed: ((isAborted: boolean) => void) | undefined
  #ending: 'none' | 'written' | 'aborted' = 'none'

  /** @throws HTTP_MISUSE if the target is not one */
  constructor(request: OwnRequest) {
    this.request = requestOf(request)
    const { promise, resolve } = Promise.withResolvers<TaskResponse>()
    this.response = promise
    this.#resolve = resolve
  }

  respond(head: ResponseHead): void {
    this.#claim(head)
    this.#close('written')
  }

  stream(head: ResponseHead): BodyWriter {
    this.#claim(head)
    return {
      write: (_chunk, onUnused) => {
        onUnused?.()
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
    // The time of a task is limited by who ordered it.
  }

  liftBodyLimit(): void {
    // There is no body.
  }

  /** Nothing waits for the response any more. */
  cut(): void {
    this.#close('aborted')
  }

  #claim(head: ResponseHead): void {
    if (this.#head !== undefined) throw new HttpError('HTTP_MISUSE', 'a second response was sent to a request')
    this.#head = head
  }

  #close(ending: 'written' | 'aborted'): void {
    if (this.#ending !== 'none') return
    this.#ending = ending
    this.#onClosed?.(ending === 'aborted')
    const { status, headers } = this.#head ?? { status: 0, headers: [] }
    const location = headers.find(([name]) => name.toLowerCase() === 'location')?.[1] ?? ''
    this.#resolve(ending === 'aborted' ? { status: 0, location: '' } : { status, location: location.slice(0, MAX_LOCATION) })
  }
}

/** Characters of a redirect that are reported. */
const MAX_LOCATION = 500
