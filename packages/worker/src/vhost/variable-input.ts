import type { HeaderList } from '@svc/http'
import type { UpstreamTrail } from '@svc/upstream'
import type { CaptureSink, Captures, ServerSpec, VariableReader } from '@svc/vhosts'
import type { LoggedRequest, RequestEnd } from '../request/formatted-logs.ts'
import type { Pace } from '../request/paced-writer.ts'
import type { RequestContext } from '../request/request-context.ts'

/** `$fastcgi_script_name` and `$fastcgi_path_info`. */
export interface ScriptPath {
  readonly name: string
  readonly info: string
}

/** The input of variables that are about the request as it came, whatever answers it. */
export interface RequestInput {
  readonly context: LoggedRequest
  /** Undefined: it has not ended. */
  readonly end: RequestEnd | undefined
}

/** Variables whose value a location decides. */
export interface LocationVariables {
  readonly invalidReferer: (input: VariableInput) => string
  readonly secureLink: (input: VariableInput) => string
  readonly secureLinkExpires: (input: VariableInput) => string
  /** How fast the response may be sent; undefined: as fast as possible. */
  readonly pace: (input: VariableInput) => Pace | undefined
}

/** The input of variables: one request at its server, in its present state. */
export interface VariableInput extends CaptureSink, RequestInput {
  readonly context: RequestContext
  readonly server: ServerSpec
  readonly ofLocation: LocationVariables
  /** `$uri`, one character for each byte. */
  readonly uri: string
  readonly args: string
  /** `$request_method`. */
  readonly requestMethod: string
  captures: Captures
  /** Fields of the response, once they are known. */
  sentHeaders: HeaderList
  /** Its status, once it is known. */
  sentStatus: number | undefined
  /** Status of the error whose page is shown. */
  readonly status: number | undefined
  /** True if the charset of a file is none that nginx would send. */
  isCharsetAdded: boolean
  /** Address of the peer, where a proxy of the vhost file has named the client. */
  readonly proxyAddress: string | undefined
  /** Port of the client behind that proxy; undefined: the proxy named none. */
  readonly clientPort: number | undefined
  readonly main: { readonly limitWords: { readonly requests: string; readonly connections: string } | undefined }
  /** Fields of the last upstream, as it sent them. */
  readonly upstreamHeaders: HeaderList
  /** The attempts to get a response from upstreams; undefined: none was asked. */
  readonly trail: UpstreamTrail | undefined
  /** `$upstream_cache_status`. */
  readonly cacheWord: string
  /** True if numbered captures are escaped as arguments when they are read. */
  readonly quotesCaptures: boolean
  /** `$document_root`. */
  documentRoot(): string
  /** `$request_filename`. */
  fileName(): string
  /** The input of `fastcgi_script_name` and `fastcgi_path_info`, where the location has an application for it. */
  scriptPath(): ScriptPath
  /** A variable that was set for this request: named captures, results of maps, values from content. */
  variable(name: string): string | undefined
  setVariable(name: string, value: string): void
}

type Read = (input: VariableInput) => string

/** Reads a variable of a request that L0 answers. */
export type HitRead = (input: RequestInput) => string

/** The reader of a variable. */
export interface RequestVariable extends VariableReader<VariableInput> {
  /**
   * Its reader for requests that L0 answers with the response to this one, of which it keeps nothing. Undefined: such requests have no
   * value of it.
   */
  readonly ofHit: ((input: VariableInput) => HitRead) | undefined
  /** True if it has no value for a request: logs have "-" then. Undefined: its name decides. */
  readonly isMissing?: (input: VariableInput) => boolean
}

/** The same for all requests with one listen address, scheme, host, path and query: the parts of the key of L0. */
export function shared(read: Read): RequestVariable {
  const ofHit = (input: VariableInput) => {
    const value = read(input)
    return () => value
  }
  return { read, isShared: true, ofHit }
}

/** Of one request, as its server and location see it. */
export const own = (read: Read): RequestVariable => ({ read, isShared: false, ofHit: undefined })

/** Of one request, whatever answers it. */
export const ofRequest = (read: HitRead): RequestVariable => ({ read, isShared: false, ofHit: () => read })

/** Variables without a value for some requests: logs have "-" then, and nothing for an empty value of the others. */
const MAYBE_MISSING = new Set([
  ...['args', 'query_string', 'content_type', 'content_length', 'remote_user', 'proxy_host', 'proxy_port', 'request_body'],
  ...['proxy_protocol_addr', 'proxy_protocol_port', 'proxy_protocol_server_addr', 'proxy_protocol_server_port'],
  ...['gzip_ratio', 'limit_conn_status', 'limit_req_status', 'secure_link', 'secure_link_expires'],
])

/** Returns true for a variable without a value for some requests. */
export function maybeMissing(name: string): boolean {
  return MAYBE_MISSING.has(name) || /^(?:[1-9]$|(?:arg|cookie|http|sent_http|sent_trailer|ssl|tcpinfo|upstream)_)/.test(name)
}
