import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { PurgeLedger } from '@svc/cache'
import { loadConfig } from '@svc/config'
import { systemClock } from '@svc/core'
import { HttpMetrics, MetricSet } from '@svc/telemetry'
import { tempDir, writeFiles } from '@svc/testkit'
import { buildGeneration } from '../src/generation/serving-generation.ts'
import { WorkerL0 } from '../src/l0/worker-l0.ts'
import { sendFailure } from '../src/pipeline/error-response.ts'
import { EventStreams } from '../src/pipeline/event-streams.ts'
import { Pipeline } from '../src/pipeline/pipeline.ts'
import { createRequestHandler } from '../src/pipeline/request-handler.ts'
import { RequestLog } from '../src/pipeline/request-log.ts'
import { LocationStage } from '../src/pipeline/stages/location-stage.ts'
import { RouteRulesStage } from '../src/pipeline/stages/route-rules-stage.ts'
import { VhostStage } from '../src/pipeline/stages/vhost-stage.ts'
import { UpstreamContent } from '../src/upstream/upstream-content.ts'
import { createVhosts } from '../src/vhost/index.ts'
import { CannedRenderer } from './canned-renderer.ts'
import { type EngineName, type RunningEngine, startEngine } from './start-engine.ts'

/** Listen address of the vhost files of tests; the port that is bound is another. */
export const ADDRESS = '127.0.0.1:8099'

/** A server with sockets in this process. */
export interface ProxyServer extends RunningEngine {
  /** What was written down as failed. */
  readonly failures: readonly string[]
}

/** What a test may set. */
export interface ProxyOptions {
  /** @default "uws" */
  readonly engine?: EngineName
  /** Beside the server, e.g. `upstream` blocks. */
  readonly outside?: string
  /** Lines of the configuration file below `[server]`. */
  readonly config?: string
}

/** Starts an engine with the stages of a worker and one server block with these directives. */
export async function startProxy(t: TestContext, directives: string, options: ProxyOptions = {}): Promise<ProxyServer> {
  const dir = tempDir(t, 'proxy')
  writeFiles(dir, {
    'svc.config.toml': `[server]\nvhosts = ["web.conf"]\n${options.config ?? ''}`,
    'web.conf': `${options.outside ?? ''}\nserver { listen ${ADDRESS}; ${directives} }`,
  })
  const loaded = await loadConfig({ file: 'svc.config.toml', env: {}, cwd: dir, isRoot: false })
  assert.ok(loaded.ok, JSON.stringify(loaded))
  const { config, sites, web } = loaded
  const onProblem = (error: Error) => assert.fail(error)
  const generation = buildGeneration(
    {
      generation: 1,
      config,
      sites,
      web,
      tls: {},
      listen: [{ name: ADDRESS, host: '127.0.0.1', port: 0 }],
      loopToken: 'token',
      moduleDir: join(dir, 'modules'),
    },
    undefined,
    { renderer: new CannedRenderer((site) => join(dir, site)), onProblem },
  )
  const metrics = new MetricSet()
  const httpMetrics = new HttpMetrics(metrics)
  const log = new RequestLog(httpMetrics, undefined)
  const makeRequestId = () => 'id'
  const l0 = new WorkerL0({
    generation: () => generation,
    ledger: new PurgeLedger(),
    metrics,
    httpMetrics,
    log: () => log,
    makeRequestId,
    clock: systemClock,
    onProblem,
  })
  l0.apply(generation, undefined)
  const upstreams = new UpstreamContent(systemClock, { locationCache: () => undefined })
  const vhosts = createVhosts({
    passwordThread: new URL('file:///none'),
    handlersFor: (served) => upstreams.handlersFor(served),
    onProblem,
  })
  const failures: string[] = []
  const onExchange = createRequestHandler({
    generation: () => generation,
    pipeline: new Pipeline(
      [new VhostStage(), new RouteRulesStage(vhosts), new LocationStage(vhosts, { name: 'app', run: () => 'next' })],
      sendFailure,
    ),
    log: () => log,
    tools: {
      makeRequestId,
      l0,
      eventStreams: new EventStreams(),
      reportFailure: (_context, { message }, status) => failures.push(`${status} ${message}`),
    },
  })
  const running = await startEngine(t, options.engine ?? 'uws', onExchange, { ready: l0, maxBodyBytes: 1 << 30 }, ADDRESS)
  return { ...running, failures }
}
