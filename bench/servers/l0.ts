// The engine with L0, metrics on, in one process: every request is answered from L0 with a body of so many bytes.
//
//   node l0.ts 1024                      engine uws, HTTP/1.1
//   node l0.ts 1024 node cert.pem key.pem  engine node, HTTP/2
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PurgeLedger } from '../../packages/cache/src/index.ts'
import { loadConfig } from '../../packages/config/src/index.ts'
import { systemClock } from '../../packages/core/src/index.ts'
import { HttpMetrics, MetricSet } from '../../packages/telemetry/src/index.ts'
import { makeEngine } from '../../packages/worker/src/engine/make-engine.ts'
import { buildGeneration } from '../../packages/worker/src/generation/serving-generation.ts'
import { WorkerL0 } from '../../packages/worker/src/l0/worker-l0.ts'
import { sendFailure } from '../../packages/worker/src/pipeline/error-response.ts'
import { EventStreams } from '../../packages/worker/src/pipeline/event-streams.ts'
import { Pipeline } from '../../packages/worker/src/pipeline/pipeline.ts'
import { createRequestHandler } from '../../packages/worker/src/pipeline/request-handler.ts'
import { RequestLog } from '../../packages/worker/src/pipeline/request-log.ts'
import type { Stage } from '../../packages/worker/src/pipeline/stage.ts'
import { VhostStage } from '../../packages/worker/src/pipeline/stages/vhost-stage.ts'

const body = Buffer.alloc(Number(process.argv[2] ?? 1024), 'x')
const cwd = mkdtempSync(join(tmpdir(), 'bench-l0-'))
writeFileSync(join(cwd, 'svc.config.toml'), '[[sites]]\nid = "a"\nroot = "."\nhostnames = ["localhost"]\n')
const loaded = await loadConfig({ file: 'svc.config.toml', env: {}, cwd, isRoot: false })
if (!loaded.ok) throw new Error(JSON.stringify(loaded))
const { config, sites } = loaded
const onProblem = (error: Error) => console.error(error)
const renderer = { describe: () => Promise.reject(new Error('none')), render: () => ({ abort: () => undefined }) }
const spec = {
  generation: 1,
  config,
  sites,
  listen: [],
  moduleDir: cwd,
  loopToken: '',
  web: { servers: [], upstreams: [], maps: [] },
  tls: {},
}
const generation = buildGeneration(spec, undefined, { renderer, onProblem })
const metrics = new MetricSet()
const httpMetrics = new HttpMetrics(metrics)
const log = new RequestLog(httpMetrics, undefined)
const makeRequestId = () => 'id'
const ledger = new PurgeLedger()
const l0 = new WorkerL0({
  generation: () => generation,
  ledger,
  metrics,
  httpMetrics,
  log: () => log,
  makeRequestId,
  clock: systemClock,
  onProblem,
})
l0.apply(generation, undefined)

const page: Stage = {
  name: 'page',
  run(context) {
    const { path } = context.request
    context.pathGroup = 'static'
    context.offerToL0({ expiresAt: Number.POSITIVE_INFINITY, label: 'a', path, tags: [], dependsOnCookies: false })
    const headers = [
      ['content-type', 'text/html; charset=utf-8'],
      ['etag', '"2m3k-so-1f0a2b3c4d"'],
      ['last-modified', 'Tue, 14 Nov 2023 22:13:20 GMT'],
      ['cache-control', 'public, max-age=0, must-revalidate'],
      ['accept-ranges', 'bytes'],
    ] as const
    context.respond({ status: 200, headers }, body)
    return 'answered'
  },
}
const onExchange = createRequestHandler({
  generation: () => generation,
  pipeline: new Pipeline([new VhostStage(), page], sendFailure),
  log: () => log,
  tools: { makeRequestId, l0, eventStreams: new EventStreams(), reportFailure: (_context, error) => onProblem(error) },
})
const engineName = process.argv[3] === 'node' ? 'node' : 'uws'
const engineOptions = {
  ready: l0,
  onExchange,
  limits: () => ({ maxBodyBytes: 1_000_000, requestTimeoutMs: 30_000, idleTimeoutMs: 60_000, maxHeaderBytes: 16_384 }),
  bodyDir: tmpdir,
  isTrustedProxy: () => false,
  onProblem,
}
const engine = await makeEngine(engineName, engineOptions, (cause) => console.error(cause))
const [certFile, keyFile] = process.argv.slice(4)
const isTls = certFile !== undefined && keyFile !== undefined
if (isTls) {
  const certificate = { id: 'bench', certFile, keyFile, title: certFile }
  engine.prepareTls('bench', { certificates: [certificate], names: [], fallback: 'bench', minVersion: '1.2' })()
}
const port = await engine.listen({ name: 'bench', host: '127.0.0.1', port: 0, isTls })
console.log(`${isTls ? 'https' : 'http'}://127.0.0.1:${port}`)
