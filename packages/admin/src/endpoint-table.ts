import { type Endpoint, type EndpointAnswer, jsonAnswer } from './endpoint.ts'

/** Everything below this prefix belongs to the service, on every host. */
export const RESERVED_PREFIX = '/__svc/'

/** What a lookup says. */
export type EndpointMatch =
  | { readonly kind: 'endpoint'; readonly endpoint: Endpoint }
  /** The path is known, the method is not: the answer is 405 with Allow. */
  | { readonly kind: 'wrong-method'; readonly allow: string }
  /** The path lies in the reserved space and no endpoint is there. */
  | { readonly kind: 'unknown' }

/** Finds endpoints by path. Built once per generation. */
export class EndpointTable {
  readonly #byPath: ReadonlyMap<string, Endpoint>

  constructor(endpoints: readonly Endpoint[]) {
    this.#byPath = new Map(endpoints.map((endpoint) => [endpoint.path, endpoint]))
  }

  /** Whether the service answers this path whatever the addressed site defines. */
  static isReserved(path: string): boolean {
    return path.startsWith(RESERVED_PREFIX) || path === '/__svc'
  }

  /** Undefined: the path is none of the service's. */
  match(method: string, path: string): EndpointMatch | undefined {
    const endpoint = this.#byPath.get(path)
    if (endpoint === undefined) return EndpointTable.isReserved(path) ? { kind: 'unknown' } : undefined
    if (method === endpoint.method || method === 'HEAD') return { kind: 'endpoint', endpoint }
    return { kind: 'wrong-method', allow: `${endpoint.method}, HEAD` }
  }

  /** The 404 of an unknown path in the reserved space: it lists what the running program serves. */
  unknownAnswer(): EndpointAnswer {
    const endpoints = [...this.#byPath.values()].map(({ method, path, group, access }) => ({ method, path, group, access }))
    const body = { type: 'about:blank', title: 'Not Found', status: 404, code: 'unknown_endpoint', endpoints }
    return { ...jsonAnswer(404, body), contentType: 'application/problem+json' }
  }
}
