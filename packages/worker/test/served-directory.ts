import { join } from 'node:path'
import { PurgeLedger } from '@svc/cache'
import { loadConfig } from '@svc/config'
import { systemClock } from '@svc/core'
import type { HttpExchange } from '@svc/http'
import type { ListenAddress } from '@svc/protocol'
import { HttpMetrics, MetricSet, RequestTracer } from '@svc/telemetry'
import { buildGeneration } from '../src/generation/serving-generation.ts'
import { WorkerL0 } from '../src/l0/worker-l0.ts'
import { createRequestHandler, Pipeline } from '../src/pipeline/pipeline.ts'
import { RouteRulesStage } from '../src/pipeline/stages/route-rules-stage.ts'
import { LocationStage, VhostStage } from '../src/pipeline/stages/vhost-stage.ts'
import { UpstreamHandlers } from '../src/proxying/upstream-handlers.ts'
import { RateLimiter } from '../src/rate-limit/rate-limiter.ts'
import type { Renderer } from '../src/render-client/renderer.ts'
import { sendFailure } from '../src/request/error-response.ts'
import { EventStreams } from '../src/request/event-streams.ts'
import { FlowLog } from '../src/request/flow-log.ts'
import type { Stage } from '../src/request/request-context.ts'
import { RequestLog } from '../src/request/request-log.ts'
import { RuleTables } from '../src/route-rules/rule-tables.ts'
import { WorkerTraffic } from '../src/traffic/worker-traffic.ts'
import { VhostRuntimes } from '../src/vhost/index.ts'
import { ownLimits } from './own-limits.ts'

/** Options of a served directory. */
export interface DirectoryOptions {
  /** Of its vhost files. */
  readonly listen: readonly ListenAddress[]
  readonly renderer: Renderer
  /** Answers what no location answers. */
  readonly app: Stage
  readonly onProblem: (error: Error) => void
  /** Of one request. */
  readonly onFailure: (error: Error, status: number) => void
}

/** Handlers of a served directory, for an engine. */
export interface ServedDirectory {
  readonly l0: WorkerL0
  readonly onExchange: (exchange: HttpExchange) => void
}

/** Renders nothing. */
export const noRenderer: Renderer = {
  isReachable: () => true,
  describe: () => Promise.reject(new Error('none')),
  render: () => undefined,
  runMiddleware: () => undefined,
}

/** Puts together what a worker serves vhosts, upstreams and L0 with, for the configuration in a directory, in this process. */
export async function serveDirectory(dir: string, options: DirectoryOptions): Promise<ServedDirectory> {
  const { listen, renderer, app, onProblem, onFailure } = options
  const loaded = await loadConfig({ file: 'svc.config.toml', env: {}, cwd: dir, isRoot: false })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded))
  const { config, sites, web } = loaded
  const served = listen.map((address) => ({ ...address, engine: 'node' as const }))
  const generation = buildGeneration(
    { generation: 1, config, sites, web, tls: {}, listen: served, loopToken: 'token', moduleDir: join(dir, 'modules') },
    undefined,
    { renderer, onProblem },
  )
  const metrics = new MetricSet()
  const httpMetrics = new HttpMetrics(metrics)
  const traffic = new WorkerTraffic()
  const log = new RequestLog(httpMetrics, undefined, traffic)
  const makeRequestId = () => 'id'
  const master = { take: async () => [], giveBack: () => undefined }
  const limiter = new RateLimiter({ master, metrics, clock: systemClock })
  const tracer = new RequestTracer({ process: {}, batchDelayMs: 10, clock: systemClock, onState: () => undefined })
  const l0 = new WorkerL0({
    generation: () => generation,
    ledger: new PurgeLedger(),
    metrics,
    httpMetrics,
    traffic,
    limiter,
    log: () => log,
    makeRequestId,
    tracer,
    clock: systemClock,
    onProblem,
  })
  l0.apply(generation, undefined)
  await tracer.prepare(config)
  tracer.apply(config)
  const upstreams = new UpstreamHandlers(systemClock, { locationCache: () => undefined })
  const vhosts = new VhostRuntimes({
    passwordThread: new URL('file:///none'),
    limits: ownLimits(systemClock),
    metrics: async () => '',
    onProblem,
  })
  const rules = new RuleTables()
  const handlers = upstreams.prepare(generation)
  await vhosts.prepare(generation, handlers)
  await rules.prepare(generation, handlers)
  upstreams.serve(generation)
  const locations = new LocationStage(vhosts, app)
  const stages = [new VhostStage(locations), new RouteRulesStage(rules), locations, app]
  const onExchange = createRequestHandler({
    generation: () => generation,
    pipeline: new Pipeline(stages, sendFailure),
    log: () => log,
    tools: {
      makeRequestId,
      l0,
      eventStreams: new EventStreams(),
      flows: new FlowLog(),
      tracer,
      reportFailure: (_context, error, status) => onFailure(error, status),
    },
  })
  return { l0, onExchange }
}
