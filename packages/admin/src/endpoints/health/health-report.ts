import * as z from 'zod/mini'
import { type Endpoint, endpoint, jsonAnswer } from '../../contract/endpoint.ts'

/** The health report at a path. `hasDetails`: it names its components. */
export function healthReport(path: string, hasDetails: boolean): Endpoint {
  return endpoint({
    method: 'GET',
    path,
    group: 'health',
    access: 'open',
    isLogged: false,
    summary: 'Health report with its components.',
    response: () =>
      z.object({
        status: z.enum(['healthy', 'degraded']),
        uptime_secs: z.int(),
        checks: z.optional(z.record(z.string(), z.string())),
      }),
    async handle(plane) {
      const { checks, ...summary } = await plane.health()
      return jsonAnswer(summary.status === 'healthy' ? 200 : 503, hasDetails ? { ...summary, checks } : summary)
    },
  })
}
