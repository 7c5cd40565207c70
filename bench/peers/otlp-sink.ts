import { promisify } from 'node:util'
import { Server, ServerCredentials } from '@grpc/grpc-js'

/** A collector that takes everything and keeps nothing. */
export interface OtlpSink {
  readonly url: string
  stop(): void
}

/** Starts a sink for spans and metrics over gRPC in this process. */
export async function startOtlpSink(): Promise<OtlpSink> {
  const server = new Server()
  const same = (bytes: Buffer) => bytes
  const nothing = Buffer.alloc(0)
  for (const service of ['trace.v1.TraceService', 'metrics.v1.MetricsService']) {
    const path = `/opentelemetry.proto.collector.${service}/Export`
    server.register<Buffer, Buffer>(
      path,
      (_call: unknown, done: (error: null, reply: Buffer) => void) => done(null, nothing),
      same,
      same,
      'unary',
    )
  }
  const port = await promisify(server.bindAsync.bind(server))('127.0.0.1:0', ServerCredentials.createInsecure())
  return { url: `http://127.0.0.1:${port}`, stop: () => server.forceShutdown() }
}
