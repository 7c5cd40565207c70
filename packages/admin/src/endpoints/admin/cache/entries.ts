import { endpoint } from '../../../contract/endpoint.ts'
import { entriesPage, listingFields, listingResponse } from '../../cache-entries.ts'

export const cacheEntries = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/cache/entries',
  group: 'admin',
  access: 'viewer',
  summary: 'Lists stored responses, by pages.',
  query: listingFields,
  response: listingResponse,
  handle: (plane, { query }) => entriesPage(plane, query),
})
