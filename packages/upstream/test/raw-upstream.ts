import assert from 'node:assert/strict'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { systemClock } from '@svc/core'
import type { HeaderList, RequestBody, ResponseHead, ResponseSink, ResponseSource } from '@svc/http'
import { type Cleanup, waitFor } from '@svc/testkit'
import type { UpstreamServerSpec } from '../src/balance/peer.ts'
import type { UpstreamSpec } from '../src/balance/upstream-group.ts'
import { UpstreamGroups } from '../src/balance/upstream-groups.ts'
import { HttpConnections } from '../src/http/http-connections.ts'
import { HttpOrigin } from '../src/http/http-origin.ts'
import { type HttpOriginSettings, parseNextUpstream } from '../src/http/origin-settings.ts'
import type { OriginRequest } from '../src/origin/origin.ts'

/** One connection as a scripted server sees it. */
export class RawConnection {
  readonly socket: Socket
  /** All bytes of the client, one character each. */
  received = ''
  isClosed = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on('data', (data: Buffer) => {
      this.received += data.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.isClosed = true
    })
  }

  send(text: string | Buffer): void {
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text)
  }

  /** Waits until the client has sent this text. */
  seen(text: string): Promise<unknown> {
    return waitFor(`the client to send ${JSON.stringify(text)}`, () => this.received.includes(text))
  }

  closed(): Promise<unknown> {
    return waitFor('the client to close the connection', () => this.isClosed)
  }
}

/** A server that does what a script says. */
export interface RawUpstream {
  readonly address: string
  readonly connections: readonly RawConnection[]
}

/** Starts a server whose script runs for each head of a request, with its number on that connection. */
export async function startRaw(
  t: Cleanup,
  script: (connection: RawConnection, request: string, index: number) => void,
  where: { readonly dir?: string; readonly onConnection?: (connection: RawConnection) => void } = {},
): Promise<RawUpstream> {
  const connections: RawConnection[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const connection = new RawConnection(socket)
    connections.push(connection)
    where.onConnection?.(connection)
    let seen = 0
    let index = 0
    socket.on('data', () => {
      for (;;) {
        const end = connection.received.indexOf('\r\n\r\n', seen)
        if (end === -1) return
        const head = connection.received.slice(seen, end + 4)
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
        if (/transfer-encoding/i.test(head) && index === 0) {
          seen = Number.MAX_SAFE_INTEGER
        } else {
          if (connection.received.length < end + 4 + length) return
          seen = end + 4 + length
        }
        script(connection, head, index++)
      }
    })
    socket.on('end', () => socket.end())
  })
  const path = where.dir === undefined ? undefined : join(where.dir, 'up.sock')
  await listening(server, path)
  t.after(() => {
    for (const { socket } of connections) socket.destroy()
    server.close()
  })
  const bound = server.address()
  const address = path === undefined ? `127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}` : `unix:${path}`
  return { address, connections }
}

function listening(server: Server, path: string | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  if (path === undefined) server.listen(0, '127.0.0.1', resolve)
  else server.listen(path, resolve)
  return promise
}

/** An address without a listener. */
export async function deadAddress(): Promise<string> {
  const server = createServer()
  await listening(server, undefined)
  const bound = server.address()
  await new Promise((resolve) => server.close(resolve))
  return `127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`
}

/** Response of an origin. */
export interface OriginAnswer {
  readonly status: number
  readonly headers: HeaderList
  readonly length: number | undefined
  readonly body: string
  readonly trailers: HeaderList
  readonly informational: readonly ResponseHead[]
  readonly error: (Error & { code?: string }) | undefined
}

/** Collects what comes to a sink. */
export class CollectingSink implements ResponseSink {
  readonly done = Promise.withResolvers<OriginAnswer>()
  readonly chunks: Uint8Array[] = []
  source: ResponseSource | undefined
  /** Takes no more until `takeAll`. */
  isFull = false
  status = 0
  headers: HeaderList = []
  #length: number | undefined
  readonly #informational: ResponseHead[] = []
  #calls = 0

  attach(source: ResponseSource): void {
    this.source = source
  }

  takeAll(): void {
    this.isFull = false
    this.source?.resume()
  }

  informational(head: ResponseHead): void {
    this.#informational.push({ status: head.status, headers: head.headers })
  }

  whole(head: ResponseHead, body: Uint8Array): void {
    this.head(head, body.byteLength)
    if (body.byteLength > 0) this.chunk(body)
    this.end([])
  }

  head(head: ResponseHead, length: number | undefined): void {
    this.status = head.status
    this.headers = head.headers
    this.#length = length
  }

  chunk(bytes: Uint8Array): boolean {
    this.chunks.push(Buffer.from(bytes))
    return !this.isFull
  }

  end(trailers: HeaderList): void {
    this.#finish(trailers, undefined)
  }

  fail(error: Error): void {
    this.#finish([], error)
  }

  get bytes(): number {
    return this.chunks.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  #finish(trailers: HeaderList, error: Error | undefined): void {
    if (++this.#calls > 1) this.done.reject(new Error('an answer ended twice'))
    this.done.resolve({
      status: this.status,
      headers: this.headers,
      length: this.#length,
      body: Buffer.concat(this.chunks).toString('latin1'),
      trailers,
      informational: this.#informational,
      error,
    })
  }
}

export function server(address: string, more: Partial<UpstreamServerSpec> = {}): UpstreamServerSpec {
  return { address, weight: 1, maxFails: 1, failTimeoutMs: 10_000, isBackup: false, isDown: false, ...more }
}

export function groupOf(servers: readonly UpstreamServerSpec[], more: Partial<UpstreamSpec> = {}): UpstreamSpec {
  return { name: 'up', balance: 'round_robin', keepalive: undefined, servers, ...more }
}

/** Makes an origin for a group. */
export function originFor(t: Cleanup, spec: UpstreamSpec, more: Partial<HttpOriginSettings> = {}): HttpOrigin {
  const connections = new HttpConnections(systemClock)
  t.after(() => connections.close())
  const groups = new UpstreamGroups([spec], {
    clock: systemClock,
    onForgotten: (group) => connections.drop([group]),
    onGone: () => undefined,
  })
  return new HttpOrigin({
    group: groups.named(spec.name),
    connections,
    tls: undefined,
    host: 'up.test',
    timeouts: { connectMs: 60_000, sendMs: 60_000, readMs: 60_000 },
    nextUpstream: parseNextUpstream(['error', 'timeout']),
    httpVersion: '1.1',
    keepsConnections: true,
    ...more,
  })
}

/** A request without body to "/". */
export function request(more: Partial<OriginRequest> = {}): OriginRequest {
  return { method: 'GET', target: '/', headers: [['host', 'a.test']], body: undefined, ...more }
}

/** Sends a request and waits for what comes of it. */
export function ask(origin: HttpOrigin, more: Partial<OriginRequest> = {}): Promise<OriginAnswer> {
  const sink = new CollectingSink()
  origin.fetch(request(more), sink)
  return sink.done.promise
}

/** Begins a request whose answer is taken by hand. */
export function begin(origin: HttpOrigin, sink: CollectingSink, more: Partial<OriginRequest> = {}): ResponseSource {
  origin.fetch(request(more), sink)
  return sink.source ?? assert.fail('an origin attaches its source at once')
}

/** A body whose chunks are given by the test. */
export class ManualBody implements RequestBody {
  readonly isPresent = true
  readonly length: number | undefined
  acks = 0
  #onChunk: ((chunk: Uint8Array, ack: () => void) => void) | undefined
  #onEnd: ((error: Error | undefined) => void) | undefined

  constructor(length?: number) {
    this.length = length
  }

  get isRead(): boolean {
    return this.#onChunk !== undefined
  }

  read(onChunk: (chunk: Uint8Array, ack: () => void) => void, onEnd: (error: Error | undefined) => void): void {
    this.#onChunk = onChunk
    this.#onEnd = onEnd
  }

  push(text: string | Uint8Array): void {
    this.#onChunk?.(typeof text === 'string' ? Buffer.from(text) : text, () => {
      this.acks++
    })
  }

  end(error?: Error): void {
    this.#onEnd?.(error)
  }
}
