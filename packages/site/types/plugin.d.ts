/** `svc/plugin`: types for authors of operator plugins. docs/plugins.md has the guide. */

type Awaitable<Value> = Value | Promise<Value>

/** Fields of a request or response, by lower-case name. */
export interface PluginHeaders {
  /** The first value of a field, or undefined. `name` in any case. */
  get(name: string): string | undefined
  /** Every value of a field, in the order received. */
  getAll(name: string): readonly string[]
  has(name: string): boolean
  [Symbol.iterator](): Iterator<readonly [name: string, value: string]>
}

/** A request, frozen. The cookie of administrators is not in it. */
export interface PluginRequest {
  /** As in `X-Request-Id` and in the log. */
  readonly id: string
  readonly method: string
  /** Absolute, with the path as the router reads it. */
  readonly url: string
  /** Normalised: dot segments, double slashes and needless escapes are gone. Compare this one. */
  readonly path: string
  /** Without "?"; "" if there is none. */
  readonly query: string
  /** As the client named it, maybe with a port. */
  readonly host: string
  readonly scheme: 'http' | 'https'
  /** Address of the client, as far as trusted proxies vouch for it; "" on a unix socket. */
  readonly client: string
  readonly headers: PluginHeaders
  /** True if the client wants to switch to WebSocket. */
  readonly isWebSocket: boolean
  /** Id of the site that the host leads to; undefined in `onRequest`, and if there is none. */
  readonly site: string | undefined
}

/** Where a request leads. */
export interface PluginRoute {
  /** Id of the site; undefined for a rule that no site is behind. */
  readonly site: string | undefined
  /**
   * `app`: the application of a site, with its public files. `location`: a location of a vhost file. `rule`: a route rule that
   * answers.
   */
  readonly kind: 'app' | 'location' | 'rule'
  /** Route of the application (`/blog/[slug]`), or ""; the text of the location; the pattern of the rule. */
  readonly pattern: string
}

/** A response of a plugin in place of any other. */
export interface PluginResponse {
  /** 200 to 599. */
  readonly status: number
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array
}

/** Changes of fields: a value replaces those before, null removes the field. */
export type PluginFields = Readonly<Record<string, string | null | undefined>>

/** Passed to each call of a hook. */
export interface PluginCall {
  /** Aborted when the deadline has passed: what the hook returns is ignored from then on. */
  readonly signal: AbortSignal
  /** Writes a line to the log of the server, with the name of the plugin and the id of the request. */
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
}

/** Decision of a hook about a request. Undefined: the request passes on unchanged. */
export interface RouteResult {
  readonly respond?: PluginResponse
  /** Fields of the request as what follows sees them. */
  readonly requestHeaders?: PluginFields
}

export interface RequestResult extends RouteResult {
  /** Path, perhaps with a query, of this host: the request goes on as if the client had asked for it. */
  readonly rewrite?: string
}

export interface RenderResult {
  /** Fields of the request as the code of the site sees them. */
  readonly requestHeaders?: PluginFields
}

export interface ResponseResult {
  /** 200 to 599, of the same kind: with a body, or without. */
  readonly status?: number
  /** Fields of the response: a value replaces those before, null removes the field. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | null | undefined>>
}

export interface ErrorResult {
  readonly respond?: PluginResponse
}

/** An error that the server is about to answer with. */
export interface PluginError {
  /** 400 to 599. */
  readonly status: number
  /** As in the body of the response: `not_found`, `bad_gateway`. */
  readonly code: string
}

/** A purge of caches. Absent members do not narrow it. */
export interface PluginPurge {
  readonly layers: readonly string[]
}

export interface PluginReload {
  /** Number of the configuration that is in service from now on. */
  readonly generation: number
}

/** Each hook is optional, and sync or async. */
export interface PluginHooks {
  /** A request has passed the built-in endpoints and the WAF; it has no site yet. */
  onRequest?(request: PluginRequest, call: PluginCall): Awaitable<RequestResult | undefined>
  /** It is known where the request leads. */
  onRoute?(request: PluginRequest, route: PluginRoute, call: PluginCall): Awaitable<RouteResult | undefined>
  /** A page or route handler of a site is about to be looked up in the cache, or rendered. */
  beforeRender?(request: PluginRequest, route: PluginRoute, call: PluginCall): Awaitable<RenderResult | undefined>
  /** The head of a response is about to be sent. */
  onResponse?(
    request: PluginRequest,
    response: { readonly status: number; readonly headers: PluginHeaders },
    call: PluginCall,
  ): Awaitable<ResponseResult | undefined>
  /** The server is about to answer with an error of its own. */
  onError?(request: PluginRequest, error: PluginError, call: PluginCall): Awaitable<ErrorResult | undefined>
  /** Caches were purged. */
  onPurge?(purge: PluginPurge, call: PluginCall): Awaitable<void>
  /** A new configuration is in service. */
  onReload?(reload: PluginReload, call: PluginCall): Awaitable<void>
}

/** The default export of a plugin. */
export interface Plugin {
  /** That of the file, without its number and ending: `auth-gate` for `10-auth-gate.mjs`. */
  readonly name: string
  /** Shown in the list of plugins. */
  readonly version: string
  /** How long a hook may take, 1 to 10,000. @default 100 */
  readonly timeoutMs?: number
  /**
   * True: responses to requests that `onRequest`, `onRoute` or `onResponse` has seen may enter L0, the cache in front of all plugins,
   * and go from there to any client. Only for hooks whose results follow from host, path and query alone.
   * @default false
   */
  readonly cacheable?: boolean
  readonly hooks: PluginHooks
}
