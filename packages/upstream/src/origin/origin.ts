import type { HeaderList, RequestBody, ResponseHead } from '@svc/http'

/** What a FastCGI application is told besides the fields of a request. */
export interface CgiContext {
  /** One character for each byte. */
  readonly params: readonly (readonly [name: string, value: string])[]
  /** Names of parameters that are configured: none of them is made of a field. */
  readonly configured: ReadonlySet<string>
  /** A line that the application wrote for its operators. */
  onErrorLine(line: string): void
}

/** A request to whatever makes the answer: complete, as it is to be sent. */
export interface OriginRequest {
  readonly method: string
  /** Origin-form target, percent-encoded. */
  readonly target: string
  /** All fields of the request, in lower case, without framing and hop-by-hop fields. */
  readonly headers: HeaderList
  /** undefined: none is declared. */
  readonly body: RequestBody | undefined
  /** Address of the client, for groups that choose a server by it; undefined: the request is nobody's (a revalidation). */
  readonly clientAddress?: string | undefined
  /** For FastCGI applications alone; whoever sends the request on in another form keeps it. */
  readonly cgi?: CgiContext | undefined
}

/**
 * Receives an answer: any number of `informational`, then `head`, any number of `chunk`, and `end`; or at any point `fail`,
 * which is the last call.
 */
export interface OriginSink {
  /** An interim answer (1xx) that is the client's business, such as 103. */
  informational(head: ResponseHead): void
  /** Without hop-by-hop and framing fields. `length`: of the body, when it is known. */
  head(head: ResponseHead, length: number | undefined): void
  /** A whole answer at once, in place of `head`, `chunk` and `end`. The body is lent for the call; not empty. */
  whole?(head: ResponseHead, body: Uint8Array): void
  /** Belongs to the receiver. `ack` lets more come. */
  chunk(bytes: Uint8Array, ack: () => void): void
  /** `trailers`: fields behind the body; [] when there are none. */
  end(trailers: HeaderList): void
  /** An `UpstreamError`, whose status answers the client while nothing has been sent; afterwards the answer is cut. */
  fail(error: Error): void
}

/** A request under way. */
export interface OriginHandle {
  /** Gives it up: the sink is told nothing more. Does nothing once it has ended. */
  abort(): void
}

/**
 * What makes answers: a server behind HTTP, a FastCGI application, or a cache in front of either. Nothing throws; failures
 * go to the sink. Concurrent calls are the rule.
 */
export interface Origin {
  fetch(request: OriginRequest, sink: OriginSink): OriginHandle
}
