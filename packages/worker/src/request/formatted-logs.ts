import type { ClientInfo, HeaderList, HttpRequest, RequestBody } from '@svc/http'
import type { ServerSpec } from '@svc/vhosts'

/** The response as it was sent. */
export interface RequestOutcome {
  /** 0: nothing. */
  readonly status: number
  /** Body bytes handed to the engine to be sent. */
  readonly bytes: number
  readonly headers: HeaderList
}

/** The end of a request, as its log lines tell it. */
export interface RequestEnd extends RequestOutcome {
  readonly durationMs: number
  /** False: the connection ended before. */
  readonly isComplete: boolean
}

/** A request as it came, whatever answers it. */
export interface LoggedRequest {
  /** As its client sent it. */
  readonly exchange: {
    readonly request: Omit<HttpRequest, 'rawPath' | 'query' | 'path'>
    readonly body: Pick<RequestBody, 'length'>
  }
  /** The same with fields that middleware and plugins have changed. */
  readonly request: Pick<HttpRequest, 'header' | 'headers'>
  /** Its server; absent: it is not known, or there is none. */
  readonly vhost?: { readonly server: Pick<ServerSpec, 'fieldNames'> } | undefined
  readonly client: ClientInfo
  readonly requestId: string
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number
}

/** A line of a request for one log. */
export interface LogLine {
  /** Path of the log; "" is that of the server. */
  readonly path: string
  /** Ends in a newline; undefined: the usual line of that log. */
  readonly text: string | undefined
}

/** The logs of a location that have a format or a condition of their own. */
export interface FormattedLogs {
  /** The lines of the request, which has ended. */
  linesOf(end: RequestEnd): readonly LogLine[]
  /** The logs of requests that L0 answers with the response to this one. @param headers of the response */
  ofHits(headers: HeaderList): HitLogs
}

/** Writes lines of requests that L0 answers. Holds nothing of the request whose response it was. */
export interface HitLogs {
  linesOf(request: LoggedRequest, end: RequestEnd): readonly LogLine[]
}
