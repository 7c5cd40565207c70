import type { FastcgiSpec } from '@svc/config'
import type { HeaderList } from '@svc/http'
import type { BodyBlocks } from '../../body-blocks.ts'
import { refuseLoop } from '../../pipeline/stages/request-loop.ts'
import type { LocationCache } from '../../proxy-cache/index.ts'
import type { ContentHandler, LocationVisit } from '../../vhost/content.ts'
import type { UpstreamGroup } from '../balance/upstream-group.ts'
import type { UpstreamGroups } from '../balance/upstream-groups.ts'
import { UpstreamError } from '../errors.ts'
import { parsePlace } from '../http/addresses.ts'
import type { HttpConnections } from '../http/http-connections.ts'
import { parseNextUpstream } from '../http/origin-settings.ts'
import type { CgiContext, OriginRequest } from '../origin.ts'
import { answerVisit } from '../proxy/answer-visit.ts'
import { clientFields } from '../proxy/client-fields.ts'
import { proxiedTarget } from '../proxy/proxy-request.ts'
import { FieldFilter, VisitAnswer } from '../proxy/visit-answer.ts'
import { FastcgiOrigin } from './fastcgi-origin.ts'
import type { Param } from './record.ts'

/** Fields of an application that its clients do not see, besides those that the location names: nginx's list. */
const HIDDEN_FIELDS = [
  'status',
  'x-accel-buffering',
  'x-accel-charset',
  'x-accel-expires',
  'x-accel-limit-rate',
  'x-accel-redirect',
] as const

/** Fields of the client's connection: no business of any upstream, but applications are told of them. */
const TOLD_FIELDS: ReadonlySet<string> = new Set(['connection', 'content-length', 'keep-alive', 'te', 'upgrade'])

/** The target of the request is the one of the client, or what rewriting made of it. */
const AS_ASKED = { target: { kind: 'fixed', upstream: '', host: '' }, uri: undefined } as const

/** What asking FastCGI applications needs of the worker. */
export interface FastcgiTools {
  readonly groups: UpstreamGroups
  readonly connections: HttpConnections
  readonly spoolDir: string
  readonly blocks: BodyBlocks
  /** The cache of the location; undefined: it has none. */
  readonly cache: LocationCache | undefined
}

/** Answers the requests of a location by a FastCGI application (`fastcgi_pass`). */
export class FastcgiHandler implements ContentHandler {
  readonly #spec: FastcgiSpec
  readonly #tools: FastcgiTools
  readonly #filter: FieldFilter
  /** Parameters that are configured, and the fields of clients that they stand for. */
  readonly #configured: ReadonlySet<string>
  readonly #replaced: ReadonlySet<string>
  /** For the one upstream of a location that names it without variables. */
  readonly #fixed: FastcgiOrigin | undefined

  constructor(spec: FastcgiSpec, tools: FastcgiTools) {
    this.#spec = spec
    this.#tools = tools
    this.#configured = new Set(spec.params.map(({ name }) => name))
    this.#replaced = new Set([...this.#configured].map(fieldOf))
    this.#filter = new FieldFilter({
      hidden: new Set([...HIDDEN_FIELDS, ...spec.hideHeaders.map((name) => name.toLowerCase())]),
      redirects: undefined,
      isBuffered: true,
      blocks: tools.blocks,
    })
    if (spec.target.kind === 'fixed') this.#fixed = this.#origin(tools.groups.getOrMake(spec.target.upstream))
  }

  handle(visit: LocationVisit): void {
    if (refuseLoop(visit.context)) return
    const origin = this.#fixed ?? this.#computed(visit)
    if (origin === undefined) {
      visit.fail(502)
      return
    }
    const request = this.#request(visit)
    const { cache } = this.#tools
    if (cache !== undefined) {
      const place = `fastcgi://${origin.name}`
      answerVisit(visit, cache.originFor(visit, origin, request, place), request, this.#filter)
    } else if (request.body !== undefined && request.body.length === undefined) answerVisit(visit, origin, request, this.#filter)
    else this.#send(visit, origin, request)
  }

  #send(visit: LocationVisit, origin: FastcgiOrigin, request: OriginRequest): void {
    const answer = new VisitAnswer(visit, this.#filter)
    const call = origin.send(request, answer)
    answer.attach(call)
    call.start()
  }

  #request(visit: LocationVisit): OriginRequest {
    const { context, method } = visit
    const { request, client } = context
    const host = request.header('host') ?? request.host
    context.makeBodyRepeatable()
    const params = this.#params(visit)
    // Those that are configured too: what an application is told of credentials and cookies decides who may have its answer from a
    // cache.
    const fields = [...fieldsOf(params), ...clientFields(context, this.#replaced)]
    return {
      method,
      target: proxiedTarget(visit, AS_ASKED),
      headers: host === '' || this.#replaced.has('host') ? fields : [['host', host], ...fields],
      // The page of an error is asked for by itself.
      body: context.body.isPresent && method === request.method ? context.body : undefined,
      clientAddress: client.address,
      cgi: this.#cgi(visit, params),
    }
  }

  /** What is configured, for one request. */
  #params(visit: LocationVisit): readonly Param[] {
    const params: Param[] = []
    for (const { name, value, isIfNotEmpty } of this.#spec.params) {
      const text = visit.requestText(value)
      if (text !== '' || !isIfNotEmpty) params.push([name, text])
    }
    return params
  }

  #cgi({ context }: LocationVisit, params: readonly Param[]): CgiContext {
    const told = toldFields(context.request.headers).filter(([name]) => !this.#configured.has(name))
    return {
      params: [...params, ...told],
      onErrorLine: (line) => context.reportFailure(new UpstreamError('UPSTREAM_STDERR', line), context.outcome().status),
    }
  }

  /** The upstream of an address that is written with variables: a group, or an address by itself. */
  #computed(visit: LocationVisit): FastcgiOrigin | undefined {
    const { target } = this.#spec
    if (target.kind !== 'computed') return undefined
    const { groups } = this.#tools
    // Who answers is more than what is sent: another answer of L0's key.
    const host = visit.text(target.host)
    const group = groups.get(host) ?? (parsePlace(host) === undefined ? undefined : groups.getOrMake(host))
    return group === undefined ? undefined : this.#origin(group)
  }

  #origin(group: UpstreamGroup): FastcgiOrigin {
    const { connections, spoolDir } = this.#tools
    const { connectMs, readMs, sendMs, nextUpstream } = this.#spec
    return new FastcgiOrigin({
      group,
      connections,
      timeouts: { connectMs, readMs, sendMs },
      nextUpstream: parseNextUpstream(nextUpstream),
      spoolDir,
    })
  }
}

/** `accept-language` of `HTTP_ACCEPT_LANGUAGE`; "" of what is no field. */
function fieldOf(param: string): string {
  return param.startsWith('HTTP_') ? param.slice(5).toLowerCase().replaceAll('_', '-') : ''
}

/** The fields that configured parameters stand for: `requestParams` leaves them to those. */
function fieldsOf(params: readonly Param[]): HeaderList {
  return params.flatMap(([name, value]) => (fieldOf(name) === '' || value === '' ? [] : [[fieldOf(name), value] as const]))
}

function toldFields(headers: HeaderList): Param[] {
  const told = headers.filter(([name]) => TOLD_FIELDS.has(name))
  return told.map(([name, value]) => [`HTTP_${name.toUpperCase().replaceAll('-', '_')}`, value])
}
