import * as z from 'zod/mini'
import { endpoint, jsonAnswer } from '../../contract/endpoint.ts'

export const liveness = endpoint({
  method: 'GET',
  path: '/health',
  group: 'health',
  access: 'open',
  isLogged: false,
  summary: 'Liveness for load balancers.',
  response: () => z.object({ status: z.enum(['ok', 'draining']) }),
  handle: (plane) => (plane.isDraining() ? jsonAnswer(503, { status: 'draining' }) : jsonAnswer(200, { status: 'ok' })),
})
