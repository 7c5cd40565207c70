import { machine } from '@svc/auth'
import type { EndpointRequest } from '../src/index.ts'

/** A request from the machine itself, without fields. */
export const noRequest: EndpointRequest<unknown, unknown> = {
  params: {},
  query: {},
  body: {},
  host: 'localhost:8080',
  caller: machine,
  client: { address: '127.0.0.1', userAgent: '', isSecure: false, isAdminHost: true },
}
