import { type CollectorTarget, EXPORT_TIMEOUT_MS } from './collector.ts'

// Each exporter is loaded only when there is a collector: the SDK and gRPC cost memory and time. A bundle
// has no names of a CommonJS module but `default`.

/** Loads the exporter of spans for a protocol. */
export async function loadSpanExporter(target: CollectorTarget) {
  if (target.protocol === 'http') {
    const { OTLPTraceExporter } = (await import('@opentelemetry/exporter-trace-otlp-proto')).default
    return () => new OTLPTraceExporter(httpOptions(target))
  }
  const { OTLPTraceExporter } = (await import('@opentelemetry/exporter-trace-otlp-grpc')).default
  const options = await grpcOptions(target)
  return () => new OTLPTraceExporter(options)
}

/** Loads the exporter of metrics for a protocol. */
export async function loadMetricExporter(target: CollectorTarget) {
  if (target.protocol === 'http') {
    const { OTLPMetricExporter } = (await import('@opentelemetry/exporter-metrics-otlp-proto')).default
    return new OTLPMetricExporter(httpOptions(target))
  }
  const { OTLPMetricExporter } = (await import('@opentelemetry/exporter-metrics-otlp-grpc')).default
  return new OTLPMetricExporter(await grpcOptions(target))
}

function httpOptions({ url, authorization }: CollectorTarget) {
  return { url, headers: authorization === undefined ? {} : { authorization }, timeoutMillis: EXPORT_TIMEOUT_MS }
}

async function grpcOptions({ url, authorization }: CollectorTarget) {
  const { Metadata } = (await import('@grpc/grpc-js')).default
  const metadata = new Metadata()
  if (authorization !== undefined) metadata.set('authorization', authorization)
  return { url, metadata, timeoutMillis: EXPORT_TIMEOUT_MS }
}
