import type { Endpoint } from '../../contract/endpoint.ts'
import { cacheEntries } from '../admin/cache/entries.ts'

export const obsCache: Endpoint = { ...cacheEntries, path: '/__svc/obs/cache', group: 'obs' }
