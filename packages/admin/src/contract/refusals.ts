import type { EndpointRefusal } from './endpoint.ts'

/** The response to a request whose field is invalid for a reason that its schema cannot tell. */
export function invalidField(path: string, detail: string): EndpointRefusal {
  return { problem: { status: 400, code: 'invalid_request', detail, errors: [{ path, message: detail }] } }
}
