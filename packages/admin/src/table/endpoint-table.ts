import { type Endpoint, type EndpointAnswer, jsonAnswer } from '../contract/endpoint.ts'

/** Everything below this prefix belongs to the service, on every host. */
const RESERVED_PREFIX = '/__svc/'
/** Below this prefix only pairs of method and path belong to the service. */
const SHARED_PREFIX = '/api/'

/** Result of a lookup. */
export type EndpointMatch =
  | { readonly kind: 'endpoint'; readonly endpoint: Endpoint; readonly params: Readonly<Record<string, string>> }
  /** The path is known, the method is not: the answer is 405 with Allow. */
  | { readonly kind: 'wrong-method'; readonly allow: string }
  /** The path lies in the reserved space and no endpoint is there. */
  | { readonly kind: 'unknown' }

/** The endpoints of one path. */
interface Place {
  readonly segments: readonly string[]
  readonly endpoints: Endpoint[]
}

function isParameter(segment: string): boolean {
  return segment.startsWith(':')
}

/** Values of the parameters when a path fits; an escape that cannot be decoded fits nothing. */
function paramsOf(pattern: readonly string[], path: string): Record<string, string> | undefined {
  const segments = path.split('/')
  if (segments.length !== pattern.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, segment] of segments.entries()) {
    const expected = pattern[index] ?? ''
    if (!isParameter(expected)) {
      if (segment !== expected) return undefined
      continue
    }
    try {
      params[expected.slice(1)] = decodeURIComponent(segment)
    } catch {
      return undefined
    }
  }
  return params
}

/** Finds endpoints by path. Built once per generation. */
export class EndpointTable {
  readonly #exact = new Map<string, Place>()
  readonly #patterns: Place[] = []

  constructor(endpoints: readonly Endpoint[]) {
    for (const endpoint of endpoints) this.#add(endpoint)
  }

  /** Returns true if the service answers this path whatever the addressed site defines. */
  static isReserved(path: string): boolean {
    return path.startsWith(RESERVED_PREFIX) || path === '/__svc'
  }

  /** Undefined: the path is none of the service's. */
  match(method: string, path: string): EndpointMatch | undefined {
    const exact = this.#exact.get(path)
    if (exact !== undefined) return matchMethod(method, exact, {})
    const isReserved = EndpointTable.isReserved(path)
    if (!isReserved && !path.startsWith(SHARED_PREFIX)) return undefined
    for (const place of this.#patterns) {
      const params = paramsOf(place.segments, path)
      if (params !== undefined) return matchMethod(method, place, params)
    }
    return isReserved ? { kind: 'unknown' } : undefined
  }

  /** All endpoints, in the order in which they were listed. */
  get all(): Endpoint[] {
    return [...this.#exact.values(), ...this.#patterns].flatMap(({ endpoints }) => endpoints)
  }

  /** The 404 of an unknown path in the reserved space: it lists what the running program serves. */
  unknownAnswer(requestId: string): EndpointAnswer {
    const endpoints = this.all.map(({ method, path, group, access }) => ({ method, path, group, access }))
    const detail = 'no endpoint has this path'
    const problem = { type: 'about:blank', title: 'Not Found', status: 404, code: 'unknown_endpoint', detail }
    return {
      ...jsonAnswer(404, { ...problem, request_id: requestId, endpoints }),
      contentType: 'application/problem+json',
      headers: [['x-request-id', requestId]],
    }
  }

  #add(endpoint: Endpoint): void {
    const segments = endpoint.path.split('/')
    const known = this.#exact.get(endpoint.path) ?? this.#patterns.find((place) => place.segments.join('/') === endpoint.path)
    if (known !== undefined) known.endpoints.push(endpoint)
    else if (segments.some(isParameter)) this.#patterns.push({ segments, endpoints: [endpoint] })
    else this.#exact.set(endpoint.path, { segments, endpoints: [endpoint] })
  }
}

function matchMethod(method: string, { endpoints }: Place, params: Readonly<Record<string, string>>): EndpointMatch {
  const wanted = method === 'HEAD' ? 'GET' : method
  const endpoint = endpoints.find((candidate) => candidate.method === wanted)
  if (endpoint !== undefined) return { kind: 'endpoint', endpoint, params }
  const allow = endpoints.map((candidate) => (candidate.method === 'GET' ? 'GET, HEAD' : candidate.method)).join(', ')
  return { kind: 'wrong-method', allow }
}
