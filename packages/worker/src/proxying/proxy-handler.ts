import { type BodyBlocks, type HeaderList, type RequestBody, wholeBody } from '@svc/http'
import type { HttpConnections, UpstreamGroup, UpstreamGroups } from '@svc/upstream'
import { bridgeWebSocket, HttpOrigin, parseNextUpstream, parseServerAddress, UpstreamError } from '@svc/upstream'
import type { ProxySpec } from '@svc/vhosts'
import type { LocationCache } from '../proxy-cache/index.ts'
import { refuseLoop } from '../request/request-loop.ts'
import { withoutSessionFields } from '../request/response-head.ts'
import type { LocationExchange, LocationHandler } from '../vhost/location-handler.ts'
import { choiceKeyOf } from './choice-key.ts'
import { computedGroup } from './computed-group.ts'
import { CookieRewriter } from './cookie-rewriter.ts'
import { ownBody, ProxiedFields, proxiedTarget } from './proxy-request.ts'
import { RedirectRewriter } from './redirect-rewriter.ts'
import { FieldFilter, hiddenFields, UpstreamSink } from './upstream-sink.ts'
import { type TlsContexts, UpstreamTls } from './upstream-tls.ts'

/** Fields of an upstream that its clients do not see, besides those that `hiddenFields` adds: nginx's list. */
const HIDDEN_FIELDS = ['date', 'server', 'x-pad'] as const

/** Dependencies of proxying. */
interface ProxyTools {
  readonly groups: UpstreamGroups
  readonly connections: HttpConnections
  readonly blocks: BodyBlocks
  readonly tlsContexts: TlsContexts
  /** The cache of the location; undefined: it has none. */
  readonly cache: LocationCache | undefined
}

/** Answers the requests of a location by an HTTP upstream (`proxy_pass`). */
export class ProxyHandler implements LocationHandler {
  readonly #spec: ProxySpec
  readonly #tools: ProxyTools
  readonly #fields: ProxiedFields
  readonly #filter: FieldFilter
  readonly #keepsConnections: boolean
  readonly #tls: UpstreamTls
  /** For the one upstream of a location that names it without variables. */
  readonly #fixed: HttpOrigin | undefined

  constructor(spec: ProxySpec, tools: ProxyTools) {
    this.#spec = spec
    this.#tls = new UpstreamTls(spec.tls, tools.tlsContexts)
    this.#tools = tools
    this.#fields = new ProxiedFields(spec)
    this.#filter = new FieldFilter({
      hidden: hiddenFields(HIDDEN_FIELDS, spec),
      interceptsErrors: spec.interceptsErrors,
      mayRedirectInside: !spec.ignoredFields.includes('x-accel-redirect'),
      redirects: new RedirectRewriter(spec),
      cookies: spec.cookies && new CookieRewriter(spec.cookies),
      isBuffered: spec.isBuffered,
      blocks: tools.blocks,
    })
    this.#keepsConnections = !spec.setHeaders.some(
      ({ name, value }) => name.toLowerCase() === 'connection' && value.join('') === 'close',
    )
    if (spec.target.kind === 'fixed' && this.#tls.isFixed) {
      this.#fixed = this.#origin(
        tools.groups.named(spec.target.upstream),
        spec.target.host,
        spec.scheme === 'https' ? 'https' : 'http',
      )
    }
  }

  handle(exchange: LocationExchange): void {
    const { context } = exchange
    context.pathGroup = 'proxy'
    if (refuseLoop(context)) return
    const found = this.#fixed === undefined ? this.#computed(exchange) : { origin: this.#fixed, uri: '' }
    if (found === undefined || found instanceof UpstreamError) {
      // Without an error, the variables did not make a valid address.
      if (found !== undefined) context.reportFailure(found, 502)
      exchange.fail(found === undefined ? 500 : 502)
      return
    }
    const { origin } = found
    const { host, group, tls } = origin.settings
    const scheme = tls === undefined ? 'http' : 'https'
    exchange.setVariable('proxy_host', host)
    const port = proxyPort(host, group.spec.name, scheme)
    if (port !== undefined) exchange.setVariable('proxy_port', port)
    const headers = this.#fields.of(exchange, host)
    if (headers === undefined) {
      exchange.fail(400)
      return
    }
    const { webSocket } = context.exchange
    context.enter('upstream')
    context.body.makeRepeatable()
    const { method, passesBody } = this.#spec
    const body = this.#setBody(exchange) ?? (passesBody ? ownBody(exchange) : undefined)
    const request = {
      method: (method && exchange.requestText(method)) || exchange.method,
      target: proxiedTarget(exchange, this.#spec, found.uri),
      headers,
      body,
      trail: exchange.trail,
      choiceKey: choiceKeyOf(exchange, group.spec),
    }
    const sink = new UpstreamSink(exchange, this.#filter, request.method === 'HEAD')
    if (webSocket !== undefined && this.#passesUpgrade(exchange)) {
      const filter = (fields: HeaderList) => this.#switching(exchange, fields)
      bridgeWebSocket({ origin, request, offer: webSocket, filter, sink })
    } else if (this.#tools.cache !== undefined) {
      const place = `${scheme}://${group.spec.name}`
      this.#tools.cache.originFor(exchange, origin, request, place).fetch(request, sink)
    } else {
      origin.fetch(request, sink)
    }
  }

  /** The body of `proxy_set_body`. */
  #setBody(exchange: LocationExchange): RequestBody | undefined {
    const { body } = this.#spec
    return body && wholeBody(Buffer.from(exchange.requestText(body), 'latin1'))
  }

  /** The fields of a response that agrees to switch protocols, after the location removed and added fields. */
  #switching(exchange: LocationExchange, fields: HeaderList): HeaderList {
    const { headers } = this.#filter.apply(exchange, fields)
    const head = { status: 101, headers }
    return withoutSessionFields(exchange.context.shapeHead?.(head) ?? head).headers
  }

  /** nginx switches protocols only where the location hands both fields on. */
  #passesUpgrade(exchange: LocationExchange): boolean {
    const setTo = (wanted: string) => {
      const field = this.#spec.setHeaders.find(({ name }) => name.toLowerCase() === wanted)
      return field === undefined ? '' : exchange.requestText(field.value).toLowerCase()
    }
    return setTo('upgrade') === 'websocket' && setTo('connection').includes('upgrade')
  }

  /** The upstream of an address that is written with variables: a group, or an address by itself. `uri`: what follows it. */
  #computed(exchange: LocationExchange): { readonly origin: HttpOrigin; readonly uri: string } | UpstreamError | undefined {
    const { target } = this.#spec
    if (target.kind !== 'computed') {
      const group = this.#tools.groups.named(target.upstream)
      return { origin: this.#origin(group, target.host, this.#spec.scheme === 'https' ? 'https' : 'http', exchange), uri: '' }
    }
    // `text`: the variables pick the upstream, so a response that depends on more than L0's key stays out of L0.
    const url = exchange.text(target.host)
    const scheme = this.#spec.scheme === 'computed' ? schemeOf(url) : this.#spec.scheme
    if (scheme === undefined) return undefined
    const { host, uri } = splitUrl(this.#spec.scheme === 'computed' ? url.slice(`${scheme}://`.length) : url)
    const { resolver } = this.#spec
    const group = computedGroup(this.#tools.groups, { host, address: addressOf(host, scheme), resolver })
    return group === undefined || group instanceof UpstreamError
      ? group
      : { origin: this.#origin(group, host, scheme, exchange), uri }
  }

  #origin(group: UpstreamGroup, host: string, scheme: Scheme, exchange?: LocationExchange): HttpOrigin {
    const { connectMs, readMs, sendMs, nextUpstream, httpVersion } = this.#spec
    return new HttpOrigin({
      group,
      connections: this.#tools.connections,
      tls: scheme === 'https' ? this.#tls.transport(host, exchange) : undefined,
      host: proxyHost(host, scheme),
      timeouts: { connectMs, readMs, sendMs },
      nextUpstream: parseNextUpstream(nextUpstream, this.#spec),
      httpVersion,
      keepsConnections: this.#keepsConnections,
    })
  }
}

/** The scheme of a URL that variables have made; undefined: none that can be proxied. */
function schemeOf(url: string): Scheme | undefined {
  const scheme = /^(https?):\/\//i.exec(url)?.[1]?.toLowerCase()
  return scheme === 'http' || scheme === 'https' ? scheme : undefined
}

/** Splits the value of variables into host and URI part. The path of a socket ends at a colon. */
function splitUrl(text: string): { readonly host: string; readonly uri: string } {
  const [host = ''] = (text.startsWith('unix:') ? /^unix:[^:]*/ : /^[^/?]*/).exec(text) ?? []
  const rest = text.slice(host.length)
  return { host, uri: text.startsWith('unix:') ? rest.slice(1) : rest }
}

/** "host", "host:port" or "unix:/path" with its port. */
function addressOf(host: string, scheme: 'http' | 'https'): string {
  return parseServerAddress(host) === undefined ? `${host}:${scheme === 'https' ? 443 : 80}` : host
}

type Scheme = 'http' | 'https'

const USUAL_PORTS: Readonly<Record<Scheme, string>> = { http: ':80', https: ':443' }

/** `$proxy_host`, and the Host field where none is set: without the port that the scheme has anyway. A socket is called localhost. */
function proxyHost(host: string, scheme: Scheme): string {
  if (host.startsWith('unix:')) return 'localhost'
  const usual = USUAL_PORTS[scheme]
  return host.endsWith(usual) ? host.slice(0, -usual.length) : host
}

/**
 * `$proxy_port` where it is not the one in `$proxy_host`, else 80.
 * @param name of the upstream group
 */
function proxyPort(host: string, name: string, scheme: Scheme): string | undefined {
  if (name.startsWith('unix:')) return ''
  return scheme === 'https' && !/:\d+$/.test(host) ? '443' : undefined
}
