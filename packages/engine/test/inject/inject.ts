import { HttpError, type HttpExchange, type WebSocketEvents } from '@svc/http'
import { EngineRequest } from '../../src/exchange/engine-request.ts'
import type { ReadyResponses } from '../../src/exchange/ready-responses.ts'
import { ReadyGate } from '../../src/exchange/request-gate.ts'
import { readWebSocketWish } from '../../src/exchange/web-socket.ts'
import { MemoryBody } from './memory-body.ts'
import { MemoryExchange, type MemoryResponse, type MemoryWebSocket } from './memory-exchange.ts'
import { readyInMemory } from './memory-ready.ts'

/** A request for `inject`. */
export interface InjectOptions {
  /** @default "GET" */
  readonly method?: string
  /** Origin-form target, e.g. "/a?b=c". */
  readonly url: string
  /** @default "localhost" */
  readonly host?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Several chunks make a body without declared length. */
  readonly body?: string | Uint8Array | readonly Uint8Array[]
  /** @default "127.0.0.1" */
  readonly remoteAddress?: string
  /** @default "127.0.0.1:0" */
  readonly listener?: string
  /** Bytes that the client takes in one turn before a writer has to wait. @default no end */
  readonly windowBytes?: number
  /** Largest request body. @default no limit */
  readonly maxBodyBytes?: number
  /** Sees each piece of the response body as it is written; `abort` is the client going away. */
  readonly onChunk?: (chunk: Buffer, abort: () => void) => void
  /** Asked before the handler, as by the engines. */
  readonly ready?: ReadyResponses
  /** Aborting it is the client going away. */
  readonly signal?: AbortSignal
  /** Told of dropped response fields and wrong lengths. */
  readonly onProblem?: (error: Error) => void
}

/**
 * Sends one request through a handler without a socket and waits for the response. A request that an engine would refuse gets
 * the engine's status without reaching the handler.
 * @throws what the handler throws
 */
export async function inject(onExchange: (exchange: HttpExchange) => void, options: InjectOptions): Promise<MemoryResponse> {
  const exchange = toExchange(options, undefined)
  if (typeof exchange === 'number') return refusal(exchange)
  if ('status' in exchange) return exchange
  const abort = () => exchange.cut()
  options.signal?.addEventListener('abort', abort, { once: true })
  if (options.signal?.aborted) abort()
  onExchange(exchange)
  const response = await exchange.response
  options.signal?.removeEventListener('abort', abort)
  return response
}

/** A request for `injectWebSocket`. */
export interface InjectWebSocketOptions extends Omit<InjectOptions, 'method' | 'body' | 'ready'> {
  /** Subprotocols to offer. */
  readonly protocols?: readonly string[]
  /** Events at the client's end. */
  readonly events: WebSocketEvents
}

/**
 * Asks a handler for a WebSocket, without a network. The answer is the client's end of it, or the response that declines.
 * @throws what the handler throws
 */
export async function injectWebSocket(
  onExchange: (exchange: HttpExchange) => void,
  { events, protocols = [], ...options }: InjectWebSocketOptions,
): Promise<MemoryWebSocket | MemoryResponse> {
  const handshake = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...(protocols.length === 0 ? {} : { 'sec-websocket-protocol': protocols.join(', ') }),
  }
  const exchange = toExchange({ ...options, headers: { ...handshake, ...options.headers } }, events)
  if (typeof exchange === 'number') return refusal(exchange)
  if ('status' in exchange) return exchange
  onExchange(exchange)
  return await Promise.race([exchange.response, exchange.switched])
}

function toExchange(
  options: InjectOptions,
  webSocketEvents: WebSocketEvents | undefined,
): MemoryExchange | MemoryResponse | number {
  const method = options.method ?? 'GET'
  const { chunks, length } = bodyOf(options.body)
  const maxBytes = options.maxBodyBytes ?? Number.POSITIVE_INFINITY
  if (length !== undefined && length > maxBytes) return 413
  const listener = options.listener ?? '127.0.0.1:0'
  const same = (address: string) => address
  const gate = new ReadyGate(listener, 'http', { addressOf: same, countedAddressOf: same })
  const fields = fieldsOf(options, chunks.length > 0, length)
  const fault = gate.enter(method, options.url, {
    forEach(visit) {
      for (const [name, value] of fields) visit(name, value)
    },
  })
  if (fault !== undefined) return fault.status
  const ready = readyResponse(gate, method, options)
  if (ready !== undefined) return ready
  const line = { method, target: options.url, areUtf8: false }
  const request = new EngineRequest(gate, line, { remoteAddress: () => options.remoteAddress ?? '127.0.0.1' })
  const wish = readWebSocketWish(gate, method)
  if (wish !== undefined && 'status' in wish) return wish.status
  const exchange = new MemoryExchange(request, new MemoryBody(chunks, length, maxBytes), {
    onChunk: options.onChunk,
    onProblem: options.onProblem ?? throwProblem,
    windowBytes: options.windowBytes ?? Number.POSITIVE_INFINITY,
  })
  if (wish !== undefined && webSocketEvents !== undefined) exchange.offer(wish.protocols, webSocketEvents)
  return exchange
}

function readyResponse(gate: ReadyGate<string>, method: string, options: InjectOptions): MemoryResponse | undefined {
  if (options.ready === undefined) return undefined
  return gate.show(method, options.url, options.remoteAddress ?? '127.0.0.1') ? readyInMemory(options.ready, gate) : undefined
}

function fieldsOf(options: InjectOptions, hasBody: boolean, length: number | undefined): Array<readonly [string, string]> {
  const given = Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const)
  const fields = given.flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((one) => [name, one] as const),
  )
  const add = (name: string, value: string) => {
    if (!fields.some(([known]) => known === name)) fields.unshift([name, value])
  }
  if (hasBody && length !== undefined) add('content-length', String(length))
  if (hasBody && length === undefined) add('transfer-encoding', 'chunked')
  add('host', options.host ?? 'localhost')
  return fields
}

function bodyOf(body: InjectOptions['body']): { chunks: readonly Uint8Array[]; length: number | undefined } {
  if (body === undefined) return { chunks: [], length: undefined }
  if (Array.isArray(body)) return { chunks: body, length: undefined }
  const bytes = typeof body === 'string' ? Buffer.from(body) : (body as Uint8Array)
  return bytes.byteLength === 0 ? { chunks: [], length: undefined } : { chunks: [bytes], length: bytes.byteLength }
}

function refusal(status: number): MemoryResponse {
  const body = Buffer.alloc(0)
  return { status, headers: {}, headerList: [], body, text: '', chunks: [], aborted: false }
}

function throwProblem(error: Error): never {
  throw new HttpError('HTTP_MISUSE', error.message, { cause: error })
}
