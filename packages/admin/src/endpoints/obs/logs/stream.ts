import * as z from 'zod/mini'
import { endpoint } from '../../../contract/endpoint.ts'
import { logFields, logFilter, logLine } from '../logs.ts'

export const logStream = endpoint({
  method: 'GET',
  path: '/__svc/obs/logs/stream',
  group: 'obs',
  access: 'viewer',
  summary: 'Sends new lines of the logs as server-sent events.',
  query: () => z.strictObject(logFields()),
  handle(plane, { query }) {
    const filter = logFilter(query, plane.sites)
    return {
      events: (sink) =>
        plane.logs.follow(filter, {
          next: (text) => sink.send(logLine(text)),
          dropped: (count) => sink.dropped(count),
          ended: () => sink.end(),
        }),
    }
  },
})
