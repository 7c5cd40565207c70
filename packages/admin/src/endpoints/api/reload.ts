import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'

export const reload = endpoint({
  method: 'POST',
  path: '/__svc/api/reload',
  group: 'api',
  access: 'loopback',
  summary: 'Puts the configuration of the files into service, like SIGHUP.',
  response: () =>
    success({
      generation: z.int(),
      changed: z.record(z.string(), z.int()),
      needs_restart: z.array(z.string()),
      took_ms: z.number(),
    }),
  async handle(plane) {
    const { ok: isOk, errors, ...report } = await plane.instance.reload()
    if (isOk) return ok(report)
    const detail = 'The configuration is not in service; the one before it stays.'
    return { problem: { status: 422, code: 'reload_failed', detail, errors: errors.map((message) => ({ path: '', message })) } }
  },
})
