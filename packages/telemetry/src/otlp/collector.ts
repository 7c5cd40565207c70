import type { Resource } from '@opentelemetry/resources'

/** The parts of the configuration that tell how to trace, and where to export. */
export interface TelemetryConfig {
  readonly telemetry: Omit<CollectorSettings, 'instance_id'> & { readonly sample_rate: number }
  readonly scaling: { readonly instance_id: string }
}

/** Settings of the exporters. */
export interface CollectorSettings {
  readonly otlp_endpoint?: string | undefined
  readonly otlp_protocol: 'grpc' | 'http'
  readonly service_name: string
  /** `scaling.instance_id` */
  readonly instance_id: string
}

/** The settings of a configuration. */
export function collectorSettings({ telemetry, scaling }: TelemetryConfig): CollectorSettings {
  const { otlp_endpoint, otlp_protocol, service_name } = telemetry
  return { otlp_endpoint, otlp_protocol, service_name, instance_id: scaling.instance_id }
}

/** The sender of a signal, with further attributes of the process. */
export async function resourceOf(
  { service_name: name, instance_id: instance }: CollectorSettings,
  process: Readonly<Record<string, string | number>>,
): Promise<Resource> {
  // A bundle has no names of a CommonJS module but this one.
  const { resourceFromAttributes } = (await import('@opentelemetry/resources')).default
  return resourceFromAttributes({ 'service.name': name, 'service.instance.id': instance, ...process })
}

/** Where a signal goes. */
export interface CollectorTarget {
  readonly protocol: 'grpc' | 'http'
  /** Without credentials. */
  readonly url: string
  /** Value of an Authorization field; undefined: the URL has no credentials. */
  readonly authorization: string | undefined
}

/** As long as an export may take, with its retries. */
export const EXPORT_TIMEOUT_MS = 10_000

/**
 * The target of a signal. The endpoint is a base URL: with HTTP, the path of the signal is appended to it (OTLP specification,
 * "Endpoint URLs for OTLP/HTTP").
 */
export function collectorTarget(endpoint: string, protocol: 'grpc' | 'http', signal: 'traces' | 'metrics'): CollectorTarget {
  const url = new URL(endpoint)
  const { username, password } = url
  const hasCredentials = username !== '' || password !== ''
  const credentials = `${unescaped(username)}:${unescaped(password)}`
  url.username = ''
  url.password = ''
  if (protocol === 'http') url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/${signal}`
  return {
    protocol,
    url: protocol === 'http' ? url.href : url.origin,
    authorization: hasCredentials ? `Basic ${Buffer.from(credentials).toString('base64')}` : undefined,
  }
}

/** A part of a URL as it was before it was escaped. A "%" that escapes nothing stands for itself. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Notes if exports succeed, and tells of each change alone. */
export class CollectorState {
  readonly #onChange: (error: Error | undefined) => void
  #isAway = false

  /** @param onChange called with the error of the first export that fails, and with undefined when exports succeed again */
  constructor(onChange: (error: Error | undefined) => void) {
    this.#onChange = onChange
  }

  noted(error: Error | undefined): void {
    const isAway = error !== undefined
    if (isAway === this.#isAway) return
    this.#isAway = isAway
    this.#onChange(error)
  }
}
