import * as z from 'zod/mini'
import { endpoint } from '../../../contract/endpoint.ts'
import { flowFilter, selectionFields } from '../flows.ts'

export const flowStream = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/flows/stream',
  group: 'admin',
  access: 'viewer',
  summary: 'Sends flows as server-sent events, as they are recorded.',
  query: () => z.strictObject(selectionFields()),
  handle(plane, { query }) {
    const filter = flowFilter(query, plane.sites)
    return {
      events: (sink) =>
        plane.flows.follow(filter, {
          next: (flow) => sink.send(flow),
          dropped: (count) => sink.dropped(count),
          ended: () => sink.end(),
        }),
    }
  },
})
