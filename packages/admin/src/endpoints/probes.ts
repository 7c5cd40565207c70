import type { ControlPlane } from '../contract/control-plane.ts'
import { type Endpoint, type EndpointAnswer, jsonAnswer } from '../contract/endpoint.ts'

/** Settings of the probes. */
export interface ProbeSettings {
  readonly healthGroup: boolean
  readonly metricsGroup: boolean
  /** Paths of the health report; duplicates count once, none when the report is off. */
  readonly healthPaths: readonly string[]
  /** True if the health report names its components. */
  readonly hasHealthDetails: boolean
  /** Paths of the metrics; none when they are off. */
  readonly metricsPaths: readonly string[]
}

/** Content type of the text exposition format 0.0.4. */
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

async function healthReport(plane: ControlPlane, hasDetails: boolean): Promise<EndpointAnswer> {
  const { checks, ...summary } = await plane.health()
  return jsonAnswer(summary.status === 'healthy' ? 200 : 503, hasDetails ? { ...summary, checks } : summary)
}

function liveness(plane: ControlPlane): EndpointAnswer {
  return plane.isDraining() ? jsonAnswer(503, { status: 'draining' }) : jsonAnswer(200, { status: 'ok' })
}

async function metrics(plane: ControlPlane): Promise<EndpointAnswer> {
  return { status: 200, contentType: METRICS_TYPE, body: await plane.metrics() }
}

/** Liveness, health and metrics: open to all clients, and not logged. */
export function probeEndpoints(settings: ProbeSettings): Endpoint[] {
  const base = { method: 'GET', access: 'open', isLogged: false } as const
  const endpoints: Endpoint[] = []
  if (settings.healthGroup) {
    endpoints.push({ ...base, path: '/health', group: 'health', summary: 'Liveness for load balancers.', handle: liveness })
    const handle = (plane: ControlPlane) => healthReport(plane, settings.hasHealthDetails)
    for (const path of new Set(settings.healthPaths)) {
      endpoints.push({ ...base, path, group: 'health', summary: 'Health report with its components.', handle })
    }
  }
  if (settings.metricsGroup) {
    for (const path of new Set(settings.metricsPaths)) {
      endpoints.push({ ...base, path, group: 'metrics', summary: 'Metrics in the text exposition format.', handle: metrics })
    }
  }
  return endpoints
}
