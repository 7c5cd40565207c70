import { endpoint, jsonAnswer } from '../../../../contract/endpoint.ts'
import { restartProgress, restartResponse } from '../../../restart-progress.ts'

export const restartWorker = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/workers/:n/restart',
  group: 'admin',
  access: 'super_admin',
  summary: 'Replaces one process (`w1`, `h1`) by a successor.',
  response: restartResponse,
  async handle(plane, { params }) {
    const id = params['n'] ?? ''
    const begun = await plane.fleet.restart(id)
    if (begun !== undefined) return jsonAnswer(202, restartProgress(begun))
    const detail = `There is no process "${id}": GET /__svc/admin/api/workers lists them.`
    return { problem: { status: 404, code: 'unknown_worker', detail } }
  },
})
