import * as z from 'zod/mini'
import { endpoint, jsonAnswer, ok } from '../../../contract/endpoint.ts'
import { flag } from '../../../contract/schemas.ts'
import { restartProgress, restartResponse } from '../../restart-progress.ts'

export const restartWorkers = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/workers/restart',
  group: 'admin',
  access: 'super_admin',
  summary: 'Replaces all render workers, one after another.',
  query: () => z.strictObject({ wait: flag('1: answers when the restart has finished.') }),
  response: restartResponse,
  async handle(plane, { query }) {
    const begun = await plane.renderers.restart()
    if (query.wait !== '1') return ok({ restart_id: begun.id, render_workers: begun.total }, 202)
    const ended = (await plane.renderers.restartStatus(begun.id, true)) ?? begun
    if (ended.state === 'failed') {
      const detail = `${ended.replaced} of ${ended.total} render hosts were replaced. The log has the reason.`
      return { problem: { status: 500, code: 'restart_failed', detail } }
    }
    return jsonAnswer(200, { ...restartProgress(ended), render_workers: ended.total })
  },
})
