import type { RequestTrace, SpanAttributes, SpanRecord } from '@svc/telemetry'
import type { RequestStage } from './flow-log.ts'

const MAX_PATH_CHARS = 512
const MAX_NAME_CHARS = 256
const METHODS: ReadonlySet<string> = new Set('GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' '))

/** A request that has ended, as far as its span shows it. */
interface TracedRequest {
  readonly trace: RequestTrace
  readonly requestId: string
  /** Id of the site; "": none was found. */
  readonly site: string
  /** Result of the caches, e.g. "isr-hit"; "": none was asked. */
  readonly cache: string
  readonly method: string
  /** Without a query. */
  readonly path: string
  readonly pathGroup: string
  readonly scheme: string
  /** Value of the Host field. */
  readonly host: string
  readonly client: string
  readonly userAgent: string
  readonly httpVersion: string
  readonly status: number
  readonly bytes: number
  /** True if no whole response was sent, or one that reports a failure of the server. */
  readonly isFailed: boolean
  readonly durationMs: number
}

/** Names of the spans of stages; others have the stage's own. */
const STAGE_NAMES: Readonly<Record<string, string>> = {
  l0: 'cache lookup',
  isr: 'cache lookup',
  lease: 'cache wait',
  queue: 'render queue',
}
const STAGE_LAYERS: Readonly<Record<string, string>> = { l0: 'l0', isr: 'isr', lease: 'isr' }

/** The span of a request, with attributes of the semantic conventions for HTTP servers. */
export function requestSpan(request: TracedRequest): SpanRecord {
  const { trace, method, pathGroup, durationMs } = request
  const { traceId, spanId, parentId, state } = trace
  const known = METHODS.has(method) ? method : 'HTTP'
  return {
    name: pathGroup.startsWith('/') ? `${known} ${pathGroup}` : known,
    kind: 'server',
    traceId,
    spanId,
    parentId,
    isParentRemote: true,
    state,
    startedAt: Date.now() - durationMs,
    durationMs,
    isError: request.isFailed,
    attributes: attributesOf(request),
  }
}

function attributesOf(request: TracedRequest): SpanAttributes {
  const { method, pathGroup, status, site, cache, userAgent } = request
  const path = request.path.slice(0, MAX_PATH_CHARS)
  const [address, port] = splitHost(request.host)
  const isKnown = METHODS.has(method)
  const attributes: Record<string, string | number> = {
    request_id: request.requestId.slice(0, MAX_NAME_CHARS),
    path,
    status,
    'http.request.method': isKnown ? method : '_OTHER',
    'http.response.status_code': status,
    'http.response.body.size': request.bytes,
    'url.path': path,
    'url.scheme': request.scheme,
    'client.address': request.client,
    'network.protocol.version': request.httpVersion,
  }
  if (!isKnown) attributes['http.request.method_original'] = method.slice(0, MAX_NAME_CHARS)
  attributes[pathGroup.startsWith('/') ? 'http.route' : 'svc.path_group'] = pathGroup
  if (address !== '') attributes['server.address'] = address.slice(0, MAX_NAME_CHARS)
  if (port !== undefined) attributes['server.port'] = port
  if (userAgent !== '') attributes['user_agent.original'] = userAgent.slice(0, MAX_NAME_CHARS)
  if (site !== '') attributes['svc.site'] = site
  if (cache !== '') attributes['svc.cache'] = cache
  const error = errorType(request)
  if (error !== undefined) attributes['error.type'] = error
  return attributes
}

function errorType({ status, isFailed }: TracedRequest): string | undefined {
  if (status >= 500) return String(status)
  return isFailed ? 'aborted' : undefined
}

function splitHost(host: string): [address: string, port: number | undefined] {
  const colon = host.lastIndexOf(':')
  if (colon === -1 || host.endsWith(']')) return [host, undefined]
  return [host.slice(0, colon), Number(host.slice(colon + 1))]
}

/** The spans of the stages that a request went through, as children of its own. */
export function stageSpans(request: TracedRequest, parent: SpanRecord, stages: readonly RequestStage[]): SpanRecord[] {
  const { trace, cache } = request
  return stages.map(({ name, start_ms: start, duration_ms: durationMs, outcome }) => {
    // The proxy cache answers in the stage of the upstream.
    const isCached = name === 'upstream' && cache === 'proxy-hit'
    const layer = isCached ? 'proxy' : STAGE_LAYERS[name]
    return {
      name: isCached ? 'cache lookup' : (STAGE_NAMES[name] ?? name),
      kind: name === 'upstream' && !isCached ? 'client' : 'internal',
      traceId: trace.traceId,
      spanId: trace.takeSpanId(name),
      parentId: trace.spanId,
      isParentRemote: false,
      state: trace.state,
      startedAt: parent.startedAt + start,
      durationMs,
      isError: outcome === 'aborted',
      attributes: {
        'svc.stage': name,
        'svc.outcome': outcome,
        ...(layer === undefined ? {} : { 'svc.cache.layer': layer }),
      },
    }
  })
}
