import type { ControlPlane, Endpoint, EndpointRequest, EndpointResult } from '@svc/admin'
import type { Caller } from '@svc/auth'
import { asError } from '@svc/core'
import type { AuditRecord } from '@svc/protocol'
import type { RequestContext } from '../../request/request-context.ts'

/** Denied and malformed requests that one worker records in a second: a client may guess all night. */
const MAX_REFUSED_PER_SECOND = 10
const MAX_TARGET_CHARS = 500
/** Fields whose values are secret, or longer than a record; headers and body are those of a request that a user tries on the firewall. */
const leftOut: ReadonlySet<string> = new Set(['password', 'toml', 'headers', 'body'])

/** A call that has ended. */
interface EndedCall {
  readonly context: RequestContext
  readonly endpoint: Endpoint
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  /** Undefined: it was refused before it was read, or is malformed. */
  readonly request?: EndpointRequest<unknown, unknown> | undefined
  readonly result: EndpointResult
}

/** Queries have secrets in them, and are in no other log. */
function withoutQuery(path: unknown): unknown {
  return typeof path === 'string' ? path.split('?', 1)[0] : path
}

function targetOf({ params, request }: EndedCall): string {
  const fields = { ...params, ...(request?.query as object), ...(request?.body as object) }
  const shown = Object.entries(fields).filter(([name, value]) => !leftOut.has(name) && value !== undefined)
  const entries = shown.map(([name, value]) => [name, name === 'path' ? withoutQuery(value) : value])
  return JSON.stringify(Object.fromEntries(entries)).slice(0, MAX_TARGET_CHARS)
}

/** The user, or the name that a login tried. */
function usernameOf({ caller, request }: EndedCall): string {
  if (caller.kind === 'user') return caller.user.username
  const tried = (request?.body as { readonly username?: unknown } | undefined)?.username
  return typeof tried === 'string' ? tried : ''
}

function recordOf(call: EndedCall): AuditRecord {
  const { context, endpoint, result } = call
  const problem = 'problem' in result ? result.problem : undefined
  const isDenied = problem !== undefined && [401, 403, 429].includes(problem.status)
  return {
    at: new Date().toISOString(),
    username: usernameOf(call),
    address: context.client.address,
    action: `${endpoint.method} ${endpoint.path}`,
    target: targetOf(call),
    result: problem === undefined ? 'ok' : isDenied ? 'denied' : 'failed',
    detail: problem === undefined ? '' : (problem.detail ?? problem.code),
    request_id: context.requestId,
  }
}

/** Records operations of the control plane with who ordered them, and attempts that were denied. */
export class AuditTrail {
  readonly #audit: Pick<ControlPlane['audit'], 'add'>
  #second = 0
  #refused = 0

  constructor(audit: Pick<ControlPlane['audit'], 'add'>) {
    this.#audit = audit
  }

  /** Resolves when the call is recorded, if it is one to record. Never rejects: the call has had its effect. */
  async ended(call: EndedCall): Promise<void> {
    const { context, endpoint, caller, result } = call
    const isRefused = 'problem' in result
    // Reading is recorded where a user tried to read more than the role allows.
    if (endpoint.method === 'GET' && !(isRefused && caller.kind === 'user')) return
    const record = recordOf(call)
    // Without a request: it was denied or malformed.
    if ((record.result === 'denied' || call.request === undefined) && !this.#mayRecordRefused()) return
    await this.#audit.add(record).catch((error) => context.reportFailure(asError(error), 500))
  }

  #mayRecordRefused(): boolean {
    const second = Math.floor(performance.now() / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#refused = 0
    }
    return ++this.#refused <= MAX_REFUSED_PER_SECOND
  }
}
