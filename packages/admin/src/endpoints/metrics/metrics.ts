import { type Endpoint, endpoint } from '../../contract/endpoint.ts'

/** Content type of the text exposition format 0.0.4. */
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** All metrics of the instance, at a path. */
export function metrics(path: string): Endpoint {
  return endpoint({
    method: 'GET',
    path,
    group: 'metrics',
    access: 'open',
    isLogged: false,
    summary: 'Metrics in the text exposition format.',
    handle: async (plane) => ({ status: 200, contentType: METRICS_TYPE, body: await plane.metrics() }),
  })
}
