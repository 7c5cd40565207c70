import { type Endpoint, type EndpointRequest, type FieldError, parseBody, parseQuery } from '@svc/admin'
import type { Caller } from '@svc/auth'
import { codeOf, withDeadline } from '@svc/core'
import { noBody, type Problem, type RequestBody } from '@svc/http'
import type { RequestContext } from '../../request/request-context.ts'

/** No request of the control plane says as much. */
const MAX_BODY_BYTES = 1024 * 1024

/** Input of an endpoint, or why the request is refused. */
type ReadRequest = { readonly request: EndpointRequest<unknown, unknown> } | { readonly problem: Problem }

function invalid(errors: readonly FieldError[]): { readonly problem: Problem } {
  const detail = errors.map(({ path, message }) => (path === '' ? message : `${path} ${message}`)).join('; ')
  return { problem: { status: 400, code: 'invalid_request', detail, errors } }
}

/** Collects a body. Undefined: it is longer than it may be, and the rest of it is dropped. Rejects when it breaks off. */
function collect(body: RequestBody): Promise<Buffer | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>()
  const chunks: Buffer[] = []
  let bytes = 0
  body.read(
    (chunk, ack) => {
      bytes += chunk.byteLength
      if (bytes > MAX_BODY_BYTES) resolve(undefined)
      else chunks.push(Buffer.from(chunk))
      ack()
    },
    (error) => (error === undefined ? resolve(Buffer.concat(chunks)) : reject(error)),
  )
  return promise
}

/** Types of a .tar.gz, as clients name it. Some name none. */
const archiveTypes: readonly string[] = [
  'application/gzip',
  'application/x-gzip',
  'application/x-compressed-tar',
  'application/octet-stream',
  '',
]

function mediaType(contentType = ''): string {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

function tooLarge(maxBytes: number): Problem {
  return { status: 413, code: 'body_too_large', detail: `the request body is limited to ${maxBytes} bytes` }
}

/** Why the body of an upload is refused unread; undefined: it may be read. */
function refusedUpload({ request, body, generation }: RequestContext): Problem | undefined {
  const maxBytes = generation.config.deploy.max_bytes
  if (!body.limit(maxBytes)) return tooLarge(maxBytes)
  if (!archiveTypes.includes(mediaType(request.header('content-type'))))
    return { status: 415, code: 'unsupported_media_type', detail: `the type of an archive is ${archiveTypes[0]}` }
  return body.isPresent ? undefined : invalid([{ path: '', message: 'the request has no body: send a .tar.gz' }]).problem
}

/** The JSON value of a body; no body is an empty object. */
async function readJson({ request, exchange, generation }: RequestContext): Promise<{ value: unknown } | { problem: Problem }> {
  const { body } = exchange
  if (!body.isPresent) return { value: {} }
  if ((body.length ?? 0) > MAX_BODY_BYTES) return { problem: tooLarge(MAX_BODY_BYTES) }
  const limitMs = generation.config.server.request_timeout_secs * 1000
  const bytes = await withDeadline(collect(body), limitMs, 'the request body').catch((error) => {
    if (codeOf(error) !== 'CORE_TIMEOUT') throw error
    return 'late' as const
  })
  if (bytes === 'late')
    return { problem: { status: 408, code: 'request_timeout', detail: 'the request body did not arrive in time' } }
  if (bytes === undefined) return { problem: tooLarge(MAX_BODY_BYTES) }
  if (bytes.byteLength === 0) return { value: {} }
  if (mediaType(request.header('content-type')) !== 'application/json') {
    return { problem: { status: 415, code: 'unsupported_media_type', detail: 'the request body must be application/json' } }
  }
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) }
  } catch {
    return invalid([{ path: '', message: 'the request body is not valid JSON' }])
  }
}

/** A call of an endpoint whose caller may make it. */
interface AdmittedCall {
  readonly endpoint: Endpoint
  readonly params: Readonly<Record<string, string>>
  readonly caller: Caller
}

/** Reads a request for an endpoint and validates it against the endpoint's declaration. */
export async function readEndpointRequest(context: RequestContext, call: AdmittedCall): Promise<ReadRequest> {
  const { request, client } = context
  const { endpoint, params, caller } = call
  const query = parseQuery(request.query, endpoint.query())
  if (!query.isOk) return invalid(query.errors)
  const refused = endpoint.isUpload === true ? refusedUpload(context) : undefined
  if (refused !== undefined) return { problem: refused }
  const json = endpoint.method === 'GET' || endpoint.isUpload === true ? { value: {} } : await readJson(context)
  if ('problem' in json) return json
  const body = parseBody(json.value, endpoint.body())
  if (!body.isOk) return invalid(body.errors)
  const { address, scheme, host } = client
  const userAgent = request.header('user-agent') ?? ''
  const isAdminHost = context.generation.isAdminHost(host)
  const sender = { address, userAgent, isSecure: scheme === 'https', isAdminHost }
  const content = endpoint.isUpload === true ? context.body : noBody
  return { request: { params, query: query.values, body: body.values, content, host: request.host, caller, client: sender } }
}
