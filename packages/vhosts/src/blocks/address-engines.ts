import type { DirectiveCall } from '../directives/directive-call.ts'
import * as engines from '../directives/engines.ts'
import type { WrittenListen } from '../directives/serving.ts'
import type { EngineName } from '../spec/spec.ts'
import { formatPlace } from '../syntax/config-problem.ts'
import type { Level } from './level.ts'

/** The engine that a server names for one of its addresses. */
interface EngineChoice {
  readonly engine: EngineName
  /** In the words of the file. */
  readonly text: string
  readonly call: DirectiveCall
}

/** An address of a server, with the engine that the server names for it. */
export interface EngineListen extends WrittenListen {
  readonly choice: EngineChoice | undefined
}

/** The engine that parameters of an address ask for. */
function neededEngine(level: Level, { isHttp2, isTls, isProxied, call }: WrittenListen): EngineChoice | undefined {
  if (isProxied === true) return { engine: 'node', text: 'listen ... proxy_protocol', call }
  if (!isTls) return undefined
  if (isHttp2) return { engine: 'node', text: 'listen ... http2', call }
  const http2 = level.value(engines.http2)
  return http2?.isOn === true ? { engine: 'node', text: 'http2 on', call: http2.call } : undefined
}

/** Finds the engine that a server names for one of its addresses. HTTP/2 is spoken over TLS alone; engine node speaks it and the PROXY protocol. */
export function engineListen(level: Level, listen: WrittenListen): EngineListen {
  const { address, call, isHttp2, isTls } = listen
  if (isHttp2 && !isTls) call.notice('"http2" of "listen" has no effect here: HTTP/2 is spoken over TLS', 'listen http2')
  const needed = neededEngine(level, listen)
  const [own] = level.own(engines.svcEngine)
  if (own === undefined) return { ...listen, choice: needed }
  const choice = { engine: own.engine, text: `svc_engine ${own.engine}`, call: own.call }
  if (needed !== undefined) requireSame(address, needed, choice)
  return { ...listen, choice }
}

function requireSame(address: string, before: EngineChoice, choice: EngineChoice): void {
  if (before.engine === choice.engine) return
  choice.call.fail(
    `"${choice.text}" chooses engine "${choice.engine}" for ${address}, "${before.text}" engine "${before.engine}"`,
    undefined,
    `the other is at ${formatPlace(before.call.place)}; an address has one engine`,
  )
}

/** Reports servers that name different engines for one address. */
export function checkEngines(listens: readonly EngineListen[]): void {
  const chosen = new Map<string, EngineChoice>()
  for (const { address, choice } of listens) {
    if (choice === undefined) continue
    const before = chosen.get(address)
    if (before === undefined) chosen.set(address, choice)
    else requireSame(address, before, choice)
  }
}
