import { endpoint, ok } from '../../../contract/endpoint.ts'
import { success } from '../../../contract/schemas.ts'
import { flowFields } from '../flows.ts'

export const oneFlow = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/flows/:request_id',
  group: 'admin',
  access: 'viewer',
  summary: 'Shows a recorded request with its stages.',
  response: () => success(flowFields()),
  async handle(plane, { params: { request_id: id = '' } }) {
    const [flow] = (await plane.flows.page({ request_id: id, limit: 1 })).flows
    if (flow !== undefined) return ok(flow)
    return { problem: { status: 404, code: 'unknown_flow', detail: 'no request of this id is recorded, or not any more' } }
  },
})
