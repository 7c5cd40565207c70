import type { BodyBlocks } from '@svc/http'
import type { HttpConnections, OriginRequest, UpstreamGroup, UpstreamGroups } from '@svc/upstream'
import { FastcgiOrigin, parseNextUpstream, parseServerAddress, UpstreamError } from '@svc/upstream'
import type { FastcgiSpec } from '@svc/vhosts'
import type { LocationCache } from '../proxy-cache/index.ts'
import { refuseLoop } from '../request/request-loop.ts'
import type { LocationExchange, LocationHandler } from '../vhost/location-handler.ts'
import { LocationParams } from './location-params.ts'
import { proxiedTarget } from './proxy-request.ts'
import { FieldFilter, hiddenFields, UpstreamSink } from './upstream-sink.ts'

/** Fields of an application that its clients do not see, besides those that `hiddenFields` adds: nginx's list. */
const HIDDEN_FIELDS = ['status'] as const

/** The target of the request is the client's, or the rewritten one. */
const AS_ASKED = { target: { kind: 'fixed', upstream: '', host: '' }, uri: undefined } as const

/** Dependencies of requests to FastCGI applications. */
interface FastcgiTools {
  readonly groups: UpstreamGroups
  readonly connections: HttpConnections
  readonly spoolDir: string
  readonly blocks: BodyBlocks
  /** The cache of the location; undefined: it has none. */
  readonly cache: LocationCache | undefined
}

/** Answers the requests of a location by a FastCGI application (`fastcgi_pass`). */
export class FastcgiHandler implements LocationHandler {
  readonly #spec: FastcgiSpec
  readonly #tools: FastcgiTools
  readonly #filter: FieldFilter
  readonly #params: LocationParams
  /** For the one upstream of a location that names it without variables. */
  readonly #fixed: FastcgiOrigin | undefined

  constructor(spec: FastcgiSpec, tools: FastcgiTools) {
    this.#spec = spec
    this.#tools = tools
    this.#params = new LocationParams(spec.params)
    this.#filter = new FieldFilter({
      hidden: hiddenFields(HIDDEN_FIELDS, spec),
      interceptsErrors: spec.interceptsErrors,
      mayRedirectInside: !spec.ignoredFields.includes('x-accel-redirect'),
      redirects: undefined,
      isBuffered: true,
      blocks: tools.blocks,
    })
    if (spec.target.kind === 'fixed') this.#fixed = this.#origin(tools.groups.named(spec.target.upstream))
  }

  handle(exchange: LocationExchange): void {
    if (refuseLoop(exchange.context)) return
    const origin = this.#fixed ?? this.#computed(exchange)
    if (origin === undefined) {
      exchange.fail(502)
      return
    }
    const request = this.#request(exchange)
    exchange.context.enter('upstream')
    const { cache } = this.#tools
    const source = cache === undefined ? origin : cache.originFor(exchange, origin, request, `fastcgi://${origin.name}`)
    source.fetch(request, new UpstreamSink(exchange, this.#filter))
  }

  #request(exchange: LocationExchange): OriginRequest {
    const { context, method } = exchange
    context.body.makeRepeatable()
    const { params, fields } = this.#params.of(exchange)
    return {
      method,
      target: proxiedTarget(exchange, AS_ASKED),
      headers: fields,
      // The page of an error is requested by itself.
      body: context.body.isPresent && method === context.request.method ? context.body : undefined,
      clientAddress: context.client.address,
      cgi: {
        params,
        configured: this.#params.names,
        onErrorLine: (line) => context.reportFailure(new UpstreamError('UPSTREAM_STDERR', line), context.outcome().status),
      },
    }
  }

  /** The upstream of an address that is written with variables: a group, or an address by itself. */
  #computed(exchange: LocationExchange): FastcgiOrigin | undefined {
    const { target } = this.#spec
    if (target.kind !== 'computed') return undefined
    const { groups } = this.#tools
    // `text`: the variables pick the upstream, so a response that depends on more than L0's key stays out of L0.
    const host = exchange.text(target.host)
    const group = groups.get(host) ?? (parseServerAddress(host) === undefined ? undefined : groups.named(host))
    return group === undefined ? undefined : this.#origin(group)
  }

  #origin(group: UpstreamGroup): FastcgiOrigin {
    const { connections, spoolDir: dir, blocks } = this.#tools
    const { connectMs, readMs, sendMs, nextUpstream } = this.#spec
    return new FastcgiOrigin({
      group,
      connections,
      timeouts: { connectMs, readMs, sendMs },
      nextUpstream: parseNextUpstream(nextUpstream),
      bodies: { blocks, dir: () => dir },
    })
  }
}
