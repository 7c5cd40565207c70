import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'

export const cacheStats = endpoint({
  method: 'GET',
  path: '/__svc/cache/stats',
  group: 'cache',
  access: 'loopback',
  summary: 'Statistics of all cache layers.',
  response: () => success({}),
  handle: async (plane) => ok(await plane.purges.stats()),
})
