import type { HttpRequest, ResponseHead } from '@svc/http'

/** The part of a request that its response may be compressed by. */
export interface TermsRequest {
  readonly httpVersion: HttpRequest['httpVersion']
  /** Value of a field, by its name in lower case. */
  field(name: string): string | undefined
}

/** Terms of a place on which its responses are compressed, where they are not those of the server. */
export interface CompressionTerms {
  /** Shorter bodies are sent as they are. */
  readonly minBytes: number
  /** True if compressible responses say that they depend on Accept-Encoding. */
  readonly hasVary: boolean
  /** True if this response may be compressed on any request. */
  mayCode(head: ResponseHead): boolean
  /** True if responses to this request are compressed like those to any other. */
  isLikeOthers(request: TermsRequest): boolean
  /** True if this response may be compressed on a request that is not like others. */
  excepts(request: TermsRequest, head: ResponseHead): boolean
}

/** The part of a request that terms need. */
export function termsRequestOf(request: Pick<HttpRequest, 'header' | 'httpVersion'>): TermsRequest {
  return { httpVersion: request.httpVersion, field: (name) => request.header(name) }
}
