import type { Problem } from '@svc/http'
import type { ControlPlane } from './control-plane.ts'
import type { FieldSchema, FieldValues } from './fields.ts'

/**
 * Groups of endpoints. `[endpoints]` of the configuration switches them on and off, but for `maintenance`, which only the host
 * itself may call.
 */
export type EndpointGroup = 'health' | 'metrics' | 'api' | 'admin' | 'maintenance'

/** Who may call an endpoint: everybody; the host itself; who has a role. */
export type EndpointAccess = 'open' | 'loopback' | 'role'

/** A request as an endpoint sees it: what it declares has been checked. */
export interface EndpointRequest {
  /** Values of the `:name` segments of its path, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: FieldValues
  readonly body: FieldValues
  /** Host that the client named, with port. */
  readonly host: string
}

/** What an endpoint answers with. */
export interface EndpointAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/** What an endpoint answers with when it cannot do what it was asked for. */
export interface EndpointRefusal {
  readonly problem: Problem
}

export type EndpointResult = EndpointAnswer | EndpointRefusal

/** One endpoint that the service itself answers. */
export interface Endpoint {
  /** GET endpoints answer HEAD too. */
  readonly method: 'GET' | 'POST'
  /** A segment `:name` stands for any one segment. */
  readonly path: string
  readonly group: EndpointGroup
  readonly access: EndpointAccess
  readonly summary: string
  /**
   * Whether requests count in logs and limits. Probes come every second from every load balancer and would drown the rest.
   */
  readonly isLogged: boolean
  /** What its JSON body may hold; POST only. @default nothing */
  readonly body?: FieldSchema
  /** What its query may hold; undefined: the query is ignored. */
  readonly query?: FieldSchema
  handle(plane: ControlPlane, request: EndpointRequest): EndpointResult | Promise<EndpointResult>
}

/** An answer with a JSON body. */
export function jsonAnswer(status: number, value: unknown): EndpointAnswer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` }
}
