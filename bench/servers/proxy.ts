// The engine and the stages of a worker, with a vhost file that is nothing but `proxy_pass`, in one process: for profiles.
// The argument is the address of the upstream; with a second argument, "fastcgi", it speaks FastCGI.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PurgeLedger } from '../../packages/cache/src/index.ts'
import { loadConfig } from '../../packages/config/src/index.ts'
import { systemClock } from '../../packages/core/src/index.ts'
import { HttpMetrics, MetricSet } from '../../packages/telemetry/src/index.ts'
import { createUwsEngine } from '../../packages/worker/src/engine/uws/index.ts'
import { buildGeneration } from '../../packages/worker/src/generation/serving-generation.ts'
import { WorkerL0 } from '../../packages/worker/src/l0/worker-l0.ts'
import { sendFailure } from '../../packages/worker/src/pipeline/error-response.ts'
import { EventStreams } from '../../packages/worker/src/pipeline/event-streams.ts'
import { Pipeline } from '../../packages/worker/src/pipeline/pipeline.ts'
import { createRequestHandler } from '../../packages/worker/src/pipeline/request-handler.ts'
import { RequestLog } from '../../packages/worker/src/pipeline/request-log.ts'
import { LocationStage } from '../../packages/worker/src/pipeline/stages/location-stage.ts'
import { VhostStage } from '../../packages/worker/src/pipeline/stages/vhost-stage.ts'
import { UpstreamContent } from '../../packages/worker/src/upstream/upstream-content.ts'
import { createVhosts } from '../../packages/worker/src/vhost/index.ts'

const ADDRESS = '127.0.0.1:8099'
const cwd = mkdtempSync(join(tmpdir(), 'bench-proxy-'))
const [address = '', protocol = 'http'] = process.argv.slice(2)
const pass = protocol === 'fastcgi' ? 'fastcgi_pass app; include /etc/nginx/fastcgi.conf;' : 'proxy_pass http://app;'
const group = `upstream app { server ${address}; keepalive 64; }`
const server = `${group} server { listen ${ADDRESS}; gzip off; client_max_body_size 0; location / { ${pass} } }`
writeFileSync(join(cwd, 'svc.config.toml'), '[server]\nvhosts = ["web.conf"]\n')
writeFileSync(join(cwd, 'web.conf'), server)
const loaded = await loadConfig({ file: 'svc.config.toml', env: {}, cwd, isRoot: false })
if (!loaded.ok) throw new Error(JSON.stringify(loaded))
const { config, sites, web } = loaded
const onProblem = (error: Error) => console.error(error)
const renderer = { describe: () => Promise.reject(new Error('none')), render: () => ({ abort: () => undefined }) }
const listen = [{ name: ADDRESS, host: '127.0.0.1', port: 0 }]
const spec = { generation: 1, config, sites, listen, moduleDir: cwd, web, tls: {}, loopToken: 'bench' }
const generation = buildGeneration(spec, undefined, { renderer, onProblem })
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
const noApp = { name: 'app', run: () => 'next' as const }
const onExchange = createRequestHandler({
  generation: () => generation,
  pipeline: new Pipeline([new VhostStage(), new LocationStage(vhosts, noApp)], sendFailure),
  log: () => log,
  tools: { makeRequestId, l0, eventStreams: new EventStreams(), reportFailure: (_context, error) => onProblem(error) },
})
const engine = createUwsEngine({
  ready: l0,
  onExchange,
  limits: () => ({ maxBodyBytes: 1e12, requestTimeoutMs: 30_000, idleTimeoutMs: 60_000, maxHeaderBytes: 16_384 }),
  bodyDir: tmpdir,
  isTrustedProxy: () => false,
  onProblem,
})
console.log(`http://127.0.0.1:${await engine.listen({ name: ADDRESS, host: '127.0.0.1', port: 0 })}`)
