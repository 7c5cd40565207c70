import * as z from 'zod/mini'
import { endpoint, jsonAnswer } from '../../../../contract/endpoint.ts'
import { flag } from '../../../../contract/schemas.ts'
import { restartProgress, restartResponse } from '../../../restart-progress.ts'

export const restartStatus = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/workers/restart/:id',
  group: 'admin',
  access: 'viewer',
  isForTenants: false,
  summary: 'Shows the progress of a rolling restart.',
  query: () => z.strictObject({ wait: flag('1: answers when the restart has finished.') }),
  response: restartResponse,
  async handle(plane, { params, query }) {
    const status = await plane.renderers.restartStatus(params['id'] ?? '', query.wait === '1')
    if (status === undefined) return { problem: { status: 404, code: 'unknown_restart', detail: 'No such restart.' } }
    return jsonAnswer(200, restartProgress(status))
  },
})
