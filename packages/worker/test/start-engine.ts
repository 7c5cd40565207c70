import type { TestContext } from 'node:test'
import type { HttpExchange } from '@svc/http'
import type { Engine, EngineOptions, Refusal } from '../src/engine/engine.ts'
import { createUwsEngine } from '../src/engine/uws/index.ts'

/** An engine of this process that listens on a free port and ends with the test. */
export interface RunningEngine {
  readonly engine: Engine
  readonly port: number
  readonly problems: Error[]
  readonly refusals: Refusal[]
}

/** What a test may set. */
export interface StartOptions extends Partial<Pick<EngineOptions, 'isTrustedProxy' | 'ready'>> {
  readonly maxBodyBytes?: number
  readonly requestTimeoutMs?: number
}

/** Starts an engine on uWebSockets.js. */
export async function startUws(
  t: TestContext,
  onExchange: (exchange: HttpExchange) => void,
  options: StartOptions = {},
): Promise<RunningEngine> {
  const problems: Error[] = []
  const refusals: Refusal[] = []
  const { maxBodyBytes = 50_000_000, requestTimeoutMs = 20_000, isTrustedProxy = () => false } = options
  const engine = createUwsEngine({
    ...(options.ready === undefined ? {} : { ready: options.ready }),
    onExchange,
    limits: () => ({ maxBodyBytes, requestTimeoutMs, idleTimeoutMs: 60_000, maxHeaderBytes: 16_384 }),
    isTrustedProxy,
    onProblem: (problem) => problems.push(problem),
    onRefused: (refusal) => refusals.push(refusal),
  })
  t.after(() => engine.cut())
  const port = await engine.listen({ name: 'test', host: '127.0.0.1', port: 0 })
  return { engine, port, problems, refusals }
}
