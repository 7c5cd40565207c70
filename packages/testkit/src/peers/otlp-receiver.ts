import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import type { handleUnaryCall } from '@grpc/grpc-js'
import type { Cleanup } from '../processes/temp-dir.ts'
import { waitFor } from '../processes/wait-for.ts'
import type { ReceivedPoint, ReceivedSpan } from './otlp-messages.ts'

/** A request that a receiver has taken. */
interface ReceivedRequest {
  /** Of HTTP; with gRPC, of the method. */
  readonly path: string
  readonly contentType: string
  readonly authorization: string | undefined
}

/** PEM files. */
interface CertificatePaths {
  readonly cert: string
  readonly key: string
}

/** How a receiver listens. */
interface Options {
  readonly port?: number
  readonly certificate?: CertificatePaths | undefined
}

const MAX_BODY_BYTES = 16 * 1024 * 1024

/** A collector that keeps all that it gets. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = []
  readonly points: ReceivedPoint[] = []
  readonly requests: ReceivedRequest[] = []
  /** True: it refuses all that comes, for good. */
  refuses = false
  #scheme = 'http'
  #port = 0

  get port(): number {
    return this.#port
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`
  }

  /** Starts a receiver that ends with the test. `port`: 0 for a free one; `certificate`: it speaks TLS. */
  static async start(t: Cleanup, protocol: 'grpc' | 'http', { port = 0, certificate }: Options = {}): Promise<OtlpReceiver> {
    // Loaded here alone: few tests need it.
    const messages = await import('./otlp-messages.ts')
    const receiver = new OtlpReceiver()
    const received: OnRequest = (request, bytes) => receiver.#take(messages, request, bytes)
    const { listenedPort, close } = await (protocol === 'http' ? listenHttp : listenGrpc)(received, port, tlsOf(certificate))
    receiver.#scheme = certificate === undefined ? 'http' : 'https'
    receiver.#port = listenedPort
    receiver.close = close
    t.after(close)
    return receiver
  }

  #take({ decodeMetrics, decodeSpans }: Messages, request: ReceivedRequest, bytes: Uint8Array): boolean {
    this.requests.push(request)
    if (this.refuses) return false
    if (request.path.toLowerCase().includes('metrics')) this.points.push(...decodeMetrics(bytes))
    else this.spans.push(...decodeSpans(bytes))
    return true
  }

  /** Stops it: connections are refused from then on. */
  close: () => Promise<unknown> = async () => undefined

  /** The first span that fits, once it has come. */
  async span(what: string, fits: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan> {
    let found: ReceivedSpan | undefined
    await waitFor(`a span ${what}`, () => {
      found = this.spans.find(fits)
      return found !== undefined
    })
    return found as ReceivedSpan
  }
}

type Messages = typeof import('./otlp-messages.ts')
type TlsIdentity = { readonly cert: Buffer; readonly key: Buffer } | undefined
type OnRequest = (request: ReceivedRequest, bytes: Uint8Array) => boolean

function tlsOf(paths: CertificatePaths | undefined): TlsIdentity {
  return paths === undefined ? undefined : { cert: readFileSync(paths.cert), key: readFileSync(paths.key) }
}

async function listenHttp(received: OnRequest, port: number, tls: TlsIdentity) {
  const listener: RequestListener = async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const { 'content-type': contentType = '', authorization } = request.headers
    const isTaken = received({ path: request.url ?? '', contentType, authorization }, Buffer.concat(pieces))
    response.writeHead(isTaken ? 200 : 400, { 'content-type': 'application/x-protobuf' }).end()
  }
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  return { listenedPort: (server.address() as AddressInfo).port, close }
}

async function listenGrpc(received: OnRequest, port: number, tls: TlsIdentity) {
  const { Server, ServerCredentials, status } = await import('@grpc/grpc-js')
  const server = new Server({ 'grpc.max_receive_message_length': MAX_BODY_BYTES })
  const same = (bytes: Buffer) => bytes
  for (const path of [
    '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
    '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
  ]) {
    const handle: handleUnaryCall<Buffer, Buffer> = (call, done) => {
      const authorization = call.metadata.get('authorization').map(String)[0]
      const isTaken = received({ path, contentType: 'application/grpc', authorization }, call.request)
      if (isTaken) done(null, Buffer.alloc(0))
      else done({ code: status.INVALID_ARGUMENT, details: 'refused' })
    }
    server.register(path, handle, same, same, 'unary')
  }
  const bind = promisify(server.bindAsync.bind(server))
  const pair = tls && [{ cert_chain: tls.cert, private_key: tls.key }]
  const credentials = pair === undefined ? ServerCredentials.createInsecure() : ServerCredentials.createSsl(null, pair)
  const listenedPort = await bind(`127.0.0.1:${port}`, credentials)
  return { listenedPort, close: async () => server.forceShutdown() }
}
