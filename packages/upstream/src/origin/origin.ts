import type { HeaderList, RequestBody, ResponseSink } from '@svc/http'
import type { UpstreamTrail } from './upstream-trail.ts'

/** Parameters of a CGI application beside the fields of a request. */
export interface CgiContext {
  /** One character for each byte. */
  readonly params: readonly (readonly [name: string, value: string])[]
  /** Names of parameters that are configured: none of them is made of a field. */
  readonly configured: ReadonlySet<string>
  /** A line that the application wrote for its operators. */
  onErrorLine(line: string): void
}

/** A request to the origin of a response: complete, as it is to be sent. */
export interface OriginRequest {
  readonly method: string
  /** Origin-form target, percent-encoded. */
  readonly target: string
  /** All fields of the request, in lower case, without framing and hop-by-hop fields. */
  readonly headers: HeaderList
  /** undefined: none is declared. */
  readonly body: RequestBody | undefined
  /** Takes notes for logs; undefined: none are wanted. Code that forwards the request in another form keeps it. */
  readonly trail?: UpstreamTrail | undefined
  /** For groups that choose a server by it: the address of the client, or the value of `hash`. */
  readonly choiceKey?: string | undefined
  /** For CGI applications alone; code that forwards the request in another form keeps it. */
  readonly cgi?: CgiContext | undefined
}

/**
 * Produces responses: a server behind HTTP, a FastCGI application, or a cache in front of either. Nothing throws; failures go to the
 * sink as an `UpstreamError`. Concurrent calls are the rule.
 */
export interface Origin {
  fetch(request: OriginRequest, sink: ResponseSink): void
}
