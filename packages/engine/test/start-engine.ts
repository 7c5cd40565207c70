import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { HttpExchange, ListenerTls } from '@svc/http'
import { tempDir } from '@svc/testkit'
import type { Refusal } from '../src/exchange/exchange-watch.ts'
import type { Engine, EngineOptions } from '../src/listener/engine.ts'
import { createNodeEngine } from '../src/node/node-engine.ts'
import { createUwsEngine } from '../src/uws/uws-engine.ts'

/** The engines with sockets. */
export const engines = { uws: createUwsEngine, node: createNodeEngine } as const
export type EngineName = keyof typeof engines

/** An engine of this process that listens on a free port and ends with the test. */
export interface RunningEngine {
  readonly engine: Engine
  readonly port: number
  readonly problems: Error[]
  readonly refusals: Refusal[]
}

/** Options of a test. */
export interface StartOptions extends Partial<Pick<EngineOptions, 'isTrustedProxy' | 'ready'>> {
  readonly maxBodyBytes?: number
  readonly bodyDir?: string
  readonly requestTimeoutMs?: number
  readonly idleTimeoutMs?: number
  readonly maxHeaderBytes?: number
  /** The first address speaks TLS. */
  readonly tls?: ListenerTls
}

/** Starts an engine. `address`: name of its listen address. */
export async function startEngine(
  t: TestContext,
  name: EngineName,
  onExchange: (exchange: HttpExchange) => void,
  options: StartOptions = {},
  address = 'test',
): Promise<RunningEngine> {
  const problems: Error[] = []
  const refusals: Refusal[] = []
  const { maxBodyBytes = 50_000_000, requestTimeoutMs = 120_000, isTrustedProxy = () => false } = options
  const bodyDir = options.bodyDir ?? join(tempDir(t, 'bodies'), 'bodies')
  const { idleTimeoutMs = 60_000, maxHeaderBytes = 16_384, tls } = options
  const engine = engines[name]({
    ...(options.ready === undefined ? {} : { ready: options.ready }),
    onExchange,
    limits: () => ({ maxBodyBytes, requestTimeoutMs, idleTimeoutMs, maxHeaderBytes }),
    bodyDir: () => bodyDir,
    isTrustedProxy,
    onProblem: (problem) => problems.push(problem),
    onRefused: (refusal) => refusals.push(refusal),
  })
  t.after(() => engine.cut())
  if (tls !== undefined) engine.prepareTls(address, tls)()
  const port = await engine.listen({ name: address, host: '127.0.0.1', port: 0, isTls: tls !== undefined })
  return { engine, port, problems, refusals }
}

/** Starts an engine on uWebSockets.js. */
export function startUws(
  t: TestContext,
  onExchange: (exchange: HttpExchange) => void,
  options: StartOptions = {},
): Promise<RunningEngine> {
  return startEngine(t, 'uws', onExchange, options)
}
