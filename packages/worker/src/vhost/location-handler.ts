import type { HeaderList } from '@svc/http'
import type { UpstreamTrail } from '@svc/upstream'
import type { Template, UpstreamContent } from '@svc/vhosts'
import type { RequestContext } from '../request/request-context.ts'

/**
 * A request in the location that answers it, after rewriting and access checks. Its handler responds through the context, which
 * adds the fields of the location, and fails through this, so that the location shows its error pages.
 */
export interface LocationExchange {
  readonly context: RequestContext
  /** As the client sent it, or GET for the page of an error. */
  readonly method: string
  /** The text that the location matched, for `alias` and for the URI part of `proxy_pass`; "" for patterns. */
  readonly matchedPrefix: string
  /** True if `matchedPrefix` still begins `uri`: not after `rewrite ... break`. Then the URI part of `proxy_pass` is left out. */
  readonly isPrefixValid: boolean
  /** `$uri`: decoded and normalised, as rewriting left it. One character for each byte (latin-1). */
  readonly uri: string
  /** `$args`: as rewriting left it. */
  readonly args: string
  /** True if a rewrite or an inner redirect changed the path: the forwarded target is then made from `uri`, otherwise it is the client's. */
  readonly isRewritten: boolean
  /** Takes notes of upstreams; undefined: no variable reads them. */
  readonly trail: UpstreamTrail | undefined
  /** Value of a text with variables. If it reads an input that the key of L0 does not hold, the response stays out of L0. */
  text(template: Template): string
  /** The same for text sent to an upstream: its inputs do not decide where the response may be cached. */
  requestText(template: Template): string
  /** Sets variables for this request that only its content knows (`fastcgi_script_name`, `fastcgi_path_info`, `proxy_host`). */
  setVariable(name: string, value: string): void
  /** Notes `$upstream_cache_status`. */
  noteCache(word: string): void
  /** Notes the fields of an upstream, as it sent them. */
  noteUpstream(headers: HeaderList): void
  /** Target of a redirect to a path of this server. */
  redirectTarget(path: string): string
  /** True if the location has an `error_page` for a status. */
  hasErrorPage(status: number): boolean
  /** Answers with an error of this server: its error page, else the plain answer of this status. Only before anything was sent. */
  fail(status: number, headers?: HeaderList): void
  /** Continues at another path, or at a named location, as if the client had requested it (at most ten times). */
  redirectInside(target: { readonly uri: string; readonly args: string } | { readonly named: string }): void
}

/** Answers the requests of a location. Made once for each location of a generation, when that is prepared. */
export interface LocationHandler {
  /** Answers now or later; if it throws or rejects, the response is 500. */
  handle(exchange: LocationExchange): void | Promise<void>
}

/** Makes the handlers of a generation. */
export interface LocationHandlers {
  /** Called once for each location that has an upstream, while the generation is prepared. */
  make(content: UpstreamContent): LocationHandler
}
