import type { ControlPlane } from './control-plane.ts'

/** Groups that `[endpoints]` of the configuration switches on and off. */
export type EndpointGroup = 'health' | 'metrics'

/** Who may call an endpoint. */
export type EndpointAccess = 'open'

/** What an endpoint answers with. */
export interface EndpointAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/** One endpoint that the service itself answers. */
export interface Endpoint {
  /** GET endpoints answer HEAD too. */
  readonly method: 'GET'
  readonly path: string
  readonly group: EndpointGroup
  readonly access: EndpointAccess
  readonly summary: string
  /**
   * Whether requests count in logs and limits. Probes come every second from every load balancer and would drown the rest.
   */
  readonly isLogged: boolean
  handle(plane: ControlPlane): EndpointAnswer | Promise<EndpointAnswer>
}

/** An answer with a JSON body. */
export function jsonAnswer(status: number, value: unknown): EndpointAnswer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` }
}
