import { machine } from '@svc/auth'
import { noBody } from '@svc/http'
import type { EndpointRequest } from '../src/index.ts'

/** A request from the machine itself, without fields. */
export const noRequest: EndpointRequest<unknown, unknown> = {
  params: {},
  query: {},
  body: {},
  content: noBody,
  host: 'localhost:8080',
  caller: machine,
  client: { address: '127.0.0.1', userAgent: '', isSecure: false, isAdminHost: true },
}
