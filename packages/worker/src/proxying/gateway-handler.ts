import type { BodyBlocks } from '@svc/http'
import type { HttpConnections, OriginRequest, UpstreamGroup, UpstreamGroups, UpstreamSpec } from '@svc/upstream'
import { fastcgi, type Gateway, GatewayOrigin, parseNextUpstream, scgi, UpstreamError, uwsgi } from '@svc/upstream'
import type { GatewayContent } from '@svc/vhosts'
import type { LocationCache } from '../proxy-cache/index.ts'
import { refuseLoop } from '../request/request-loop.ts'
import type { LocationExchange, LocationHandler } from '../vhost/location-handler.ts'
import { choiceKeyOf } from './choice-key.ts'
import { computedGroup } from './computed-group.ts'
import { LocationParams } from './location-params.ts'
import { ownBody, proxiedTarget } from './proxy-request.ts'
import { FieldFilter, hiddenFields, UpstreamSink } from './upstream-sink.ts'
import { type TlsContexts, UpstreamTls } from './upstream-tls.ts'

/** Fields of an application that its clients do not see, besides those that `hiddenFields` adds: nginx's list. */
const HIDDEN_FIELDS = ['status'] as const

/** The target of the request is the client's, or the rewritten one. */
const AS_ASKED = { target: { kind: 'fixed', upstream: '', host: '' }, uri: undefined } as const

/** Dependencies of requests to CGI applications. */
interface GatewayTools {
  readonly groups: UpstreamGroups
  readonly connections: HttpConnections
  readonly spoolDir: string
  readonly blocks: BodyBlocks
  readonly tlsContexts: TlsContexts
  /** The cache of the location; undefined: it has none. */
  readonly cache: LocationCache | undefined
}

function gatewayOf({ kind, packet }: GatewayContent): Gateway {
  if (kind === 'uwsgi') return uwsgi(packet)
  return kind === 'scgi' ? scgi : fastcgi
}

/** Answers the requests of a location by a CGI application (`fastcgi_pass`, `uwsgi_pass`, `scgi_pass`). */
export class GatewayHandler implements LocationHandler {
  readonly #spec: GatewayContent
  readonly #gateway: Gateway
  readonly #tls: UpstreamTls
  readonly #tools: GatewayTools
  readonly #filter: FieldFilter
  readonly #params: LocationParams
  /** For the one upstream of a location that names it without variables. */
  readonly #fixed: GatewayOrigin | undefined

  constructor(spec: GatewayContent, tools: GatewayTools) {
    this.#spec = spec
    this.#gateway = gatewayOf(spec)
    this.#tls = new UpstreamTls(spec.tls, tools.tlsContexts)
    this.#tools = tools
    this.#params = new LocationParams(spec)
    this.#filter = new FieldFilter({
      hidden: hiddenFields(HIDDEN_FIELDS, spec),
      interceptsErrors: spec.interceptsErrors,
      mayRedirectInside: !spec.ignoredFields.includes('x-accel-redirect'),
      redirects: undefined,
      cookies: undefined,
      isBuffered: true,
      blocks: tools.blocks,
    })
    if (spec.target.kind === 'fixed' && this.#tls.isFixed) {
      const { upstream, host } = spec.target
      this.#fixed = this.#origin(tools.groups.named(upstream), host, spec.isTls)
    }
  }

  handle(exchange: LocationExchange): void {
    if (refuseLoop(exchange.context)) return
    const origin = this.#fixed ?? this.#computed(exchange)
    if (origin === undefined || origin instanceof UpstreamError) {
      if (origin !== undefined) exchange.context.reportFailure(origin, 502)
      exchange.fail(502)
      return
    }
    const request = this.#request(exchange, origin.group)
    exchange.context.enter('upstream')
    const { cache } = this.#tools
    const source =
      cache === undefined ? origin : cache.originFor(exchange, origin, request, `${this.#spec.kind}://${origin.group.name}`)
    source.fetch(request, new UpstreamSink(exchange, this.#filter))
  }

  #request(exchange: LocationExchange, group: UpstreamSpec): OriginRequest {
    const { context, method } = exchange
    context.body.makeRepeatable()
    const { params, fields } = this.#params.of(exchange)
    return {
      method,
      target: proxiedTarget(exchange, AS_ASKED),
      headers: fields,
      body: this.#spec.passesBody ? ownBody(exchange) : undefined,
      trail: exchange.trail,
      choiceKey: choiceKeyOf(exchange, group),
      cgi: {
        params,
        configured: this.#params.names,
        onErrorLine: (line) => context.reportFailure(new UpstreamError('UPSTREAM_STDERR', line), context.outcome().status),
      },
    }
  }

  /** The upstream of an address that is written with variables: a group, or an address by itself. */
  #computed(exchange: LocationExchange): GatewayOrigin | UpstreamError | undefined {
    const { target } = this.#spec
    if (target.kind !== 'computed')
      return this.#origin(this.#tools.groups.named(target.upstream), target.host, this.#spec.isTls, exchange)
    const { groups } = this.#tools
    // `text`: the variables pick the upstream, so a response that depends on more than L0's key stays out of L0.
    const text = exchange.text(target.host)
    const [scheme = '', s] = (this.#spec.kind === 'uwsgi' && /^(s?)uwsgi:\/\//i.exec(text)) || []
    const host = text.slice(scheme.length)
    const group = computedGroup(groups, { host, address: host, resolver: this.#spec.resolver })
    if (group === undefined || group instanceof UpstreamError) return group
    return this.#origin(group, host, this.#spec.isTls || (s !== undefined && s !== ''), exchange)
  }

  #origin(group: UpstreamGroup, host: string, isTls: boolean, exchange?: LocationExchange): GatewayOrigin {
    const { connections, spoolDir: dir, blocks } = this.#tools
    const { connectMs, readMs, sendMs, nextUpstream } = this.#spec
    return new GatewayOrigin({
      gateway: this.#gateway,
      group,
      tls: isTls ? this.#tls.transport(host, exchange) : undefined,
      connections,
      timeouts: { connectMs, readMs, sendMs },
      nextUpstream: parseNextUpstream(nextUpstream, this.#spec),
      bodies: { blocks, dir: () => dir },
    })
  }
}
