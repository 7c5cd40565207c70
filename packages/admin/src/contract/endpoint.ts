import type { Problem } from '@svc/http'
import type { ControlPlane } from './control-plane.ts'
import type { FieldSchema, FieldValues } from './fields.ts'

/**
 * Groups of endpoints. `[endpoints]` of the configuration switches them on and off, but for `maintenance`, which only the host
 * itself may call.
 */
export type EndpointGroup = 'health' | 'metrics' | 'api' | 'admin' | 'maintenance'

/** Access to an endpoint: everyone, the host itself, or users with a role. */
type EndpointAccess = 'open' | 'loopback' | 'role'

/** A request as an endpoint sees it, with its declared fields checked. */
export interface EndpointRequest {
  /** Values of the `:name` segments of its path, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: FieldValues
  readonly body: FieldValues
  /** Host that the client named, with port. */
  readonly host: string
}

/** The response of an endpoint. */
export interface EndpointAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/** The response of an endpoint that failed. */
interface EndpointRefusal {
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
   * True if requests count in logs and limits. Probes come every second from every load balancer and would drown the rest.
   */
  readonly isLogged: boolean
  /** Fields of its JSON body; POST only. @default none */
  readonly body?: FieldSchema
  /** Parameters of its query; undefined: the query is ignored. */
  readonly query?: FieldSchema
  handle(plane: ControlPlane, request: EndpointRequest): EndpointResult | Promise<EndpointResult>
}

/** An answer with a JSON body. */
export function jsonAnswer(status: number, value: unknown): EndpointAnswer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` }
}
