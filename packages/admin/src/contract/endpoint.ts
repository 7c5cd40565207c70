import type { AccessRule, Caller } from '@svc/auth'
import type { ContentCoding, HeaderList, Problem, RequestBody } from '@svc/http'
import * as z from 'zod/mini'
import type { ControlPlane } from './control-plane.ts'
import type { Fields } from './schemas.ts'

/** Groups of endpoints. `[endpoints]` of the configuration switches them on and off, but for `cache` and `debug`. */
export const endpointGroups = ['health', 'metrics', 'cache', 'debug', 'api', 'obs', 'admin'] as const
export type EndpointGroup = (typeof endpointGroups)[number]

/** A request as an endpoint sees it, with its declared fields validated. */
export interface EndpointRequest<Query, Body> {
  /** Values of the `:name` segments of its path, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** The body of an upload, not read yet, with its limit; of others nothing. */
  readonly content: RequestBody
  /** Host that the client named, with port. */
  readonly host: string
  readonly caller: Caller
  readonly client: {
    /** Canonical address; "" when the connection has none. */
    readonly address: string
    readonly userAgent: string
    /** True over TLS. */
    readonly isSecure: boolean
    /** True on a host of the panel: session cookies count there alone. */
    readonly isAdminHost: boolean
  }
}

/** The response of an endpoint. */
export interface EndpointAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string
  /** Further fields, lower-case names. */
  readonly headers?: HeaderList
}

/** The response of an endpoint that failed. */
export interface EndpointRefusal {
  readonly problem: Problem
  /** Further fields, lower-case names. */
  readonly headers?: HeaderList
}

/** Receives the events of a stream. After its end all calls do nothing. */
export interface EventSink {
  /** Sends an event with JSON data. While the client takes no more, events are dropped and counted. */
  send(data: unknown, type?: string): void
  /** Tells the client that so many events are missing. */
  dropped(count: number): void
  /** The source has ended. */
  end(): void
}

/** The response of an endpoint that sends events (HTML, section 9.2), until the client leaves, its credentials end, or the server drains. */
export interface EndpointEvents {
  /** Begins to send; the function that it returns is called once, at the end. */
  readonly events: (sink: EventSink) => () => void
}

/** The response of an endpoint that sends a file, whose name changes with its content: clients may keep it for ever. */
export interface EndpointFile {
  readonly file: {
    readonly name: string
    readonly contentType: string
    /** Those that the file has besides identity. */
    readonly codings: readonly ContentCoding[]
    read(coding: ContentCoding): Promise<Uint8Array>
  }
}

export type EndpointResult = EndpointAnswer | EndpointRefusal | EndpointEvents | EndpointFile

/** Properties that the list of endpoints shows. */
interface EndpointSummary extends Pick<AccessRule, 'access'> {
  /** GET endpoints answer HEAD too. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** A segment `:name` stands for any one segment. */
  readonly path: string
  readonly group: EndpointGroup
  /**
   * True: a tenant_admin may call it, and it sees and changes only sites of the tenant.
   * @default true for the access viewer and tenant_admin, else false
   */
  readonly isForTenants?: boolean
  readonly summary: string
  /**
   * False: requests do not count in logs and limits. Probes come every second from every load balancer and would drown the rest.
   * @default true
   */
  readonly isLogged?: boolean
  /**
   * True: a page of the panel, or a part of one. It is there on hosts of the panel alone, and without credentials it leads to the login.
   * @default false
   */
  readonly isPage?: boolean
  /**
   * True: its body is an archive of at most `deploy.max_bytes`, which it reads itself, in place of JSON.
   * @default false
   */
  readonly isUpload?: boolean
}

/** An endpoint as its file declares it. Schemas are made at their first use. */
interface EndpointSpec<Query extends Fields, Body extends Fields> extends EndpointSummary {
  /** Parameters of its query. @default none are allowed */
  readonly query?: () => Query
  /** Fields of its JSON body; not for GET. @default none */
  readonly body?: () => Body
  /** The body of its response; undefined: it is not JSON. */
  readonly response?: () => z.ZodMiniType
  handle(plane: ControlPlane, request: EndpointRequest<z.output<Query>, z.output<Body>>): EndpointResult | Promise<EndpointResult>
}

/** One endpoint that the service itself answers. */
export interface Endpoint extends EndpointSummary {
  readonly query: () => Fields
  readonly body: () => Fields
  readonly response: (() => z.ZodMiniType) | undefined
  // A method, so that an endpoint with declared fields is an Endpoint too: the caller validates first.
  handle(plane: ControlPlane, request: EndpointRequest<unknown, unknown>): EndpointResult | Promise<EndpointResult>
}

/** Makes a value at its first use. An error is not kept: the next use tries again. */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const noFields = once(() => z.strictObject({}))

/** Declares an endpoint. */
export function endpoint<Query extends Fields, Body extends Fields>(spec: EndpointSpec<Query, Body>): Endpoint {
  return {
    ...spec,
    query: spec.query === undefined ? noFields : once(spec.query),
    body: spec.body === undefined ? noFields : once(spec.body),
    response: spec.response === undefined ? undefined : once(spec.response),
    handle: (plane, request) => spec.handle(plane, request as EndpointRequest<z.output<Query>, z.output<Body>>),
  }
}

/** An answer with a JSON body. */
export function jsonAnswer(status: number, value: unknown): EndpointAnswer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` }
}

/** The answer of a success: the fields and `ok: true`. */
export function ok(fields: Readonly<Record<string, unknown>>, status = 200): EndpointAnswer {
  return jsonAnswer(status, { ok: true, ...fields })
}
