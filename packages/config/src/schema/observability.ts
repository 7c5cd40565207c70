import * as z from 'zod'
import { parseUrl } from '../values/addresses.ts'
import { filePath, identifier, integer, section, text, urlPath } from './fields.ts'

/** `[metrics]`. */
export const metrics = section('Metrics endpoint.', {
  enabled: z.boolean().default(true).describe('Exposes metrics.'),
  path: urlPath().default('/__svc/metrics').describe('Path of the metrics, in the text exposition format.'),
  include_process: z.boolean().default(true).describe('Includes the process_* metrics.'),
})

/** `[health]`. */
export const health = section('Health endpoint.', {
  enabled: z.boolean().default(true).describe('Exposes the health report.'),
  path: urlPath().default('/__svc/health').describe('Path of the health report.'),
  include_details: z.boolean().default(true).describe('Lists the state of each component in the report.'),
})

/** `[telemetry]`. */
export const telemetry = section('Export of traces and metrics over OTLP.', {
  otlp_endpoint: z
    .string()
    .refine((value) => parseUrl(value, ['http', 'https']) !== undefined, 'expected an http or https URL')
    .optional()
    .describe('URL of the OTLP collector. Without it, nothing is exported.')
    .meta({ examples: ['http://127.0.0.1:4317'] }),
  otlp_protocol: z.enum(['grpc', 'http']).default('grpc').describe('Protocol that the collector speaks.'),
  sample_rate: z.number().min(0).max(1).default(0.1).describe('Share of traces to export, 0 to 1.'),
  service_name: text().default('svc').describe('Service name in traces and metrics.'),
})

/** Lines of several files travel together, each behind its path. */
const logFile = () => filePath().refine((path) => !/\p{Cc}/u.test(path), 'expected a path without control characters')

/** `[logging]`. */
export const logging = section('Log lines on standard error, access lines on standard output.', {
  level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal']).default('info').describe('Lowest severity to log.'),
  access: z.boolean().default(true).describe('Writes an access line for every request.'),
  format: z
    .enum(['json', 'pretty'])
    .optional()
    .describe('Format of log lines.')
    .meta({ computed: '"json"; "pretty" on a terminal', examples: ['json'] }),
  access_format: z
    .enum(['json', 'pretty', 'common', 'combined'])
    .optional()
    .describe('Format of access lines: "common" and "combined" are those of nginx and Apache.')
    .meta({ computed: 'as `format`; "json" in a file', examples: ['combined'] }),
  access_file: logFile()
    .optional()
    .describe('File for access lines, reopened on SIGUSR1. Without it, they go to standard output.')
    .meta({ examples: ['/var/log/svc/access.log'] }),
})

/** Requests are counted over nine windows for each. */
const MAX_SLOS = 50

const slo = z
  .strictObject({
    name: text().max(100).describe('Unique name of the objective.'),
    site: identifier().optional().describe('Counts only requests of this site.'),
    kind: z.enum(['availability', 'latency']).describe('Definition of a good request: no 5xx, or a response in time.'),
    objective: z.number().gt(0).lt(1).describe('Target share of good requests, such as 0.999.'),
    threshold_ms: integer(1).optional().describe('Milliseconds within which a response is in time. Required for kind "latency".'),
    window_days: integer(1, 90).default(30).describe('Days over which the share is computed.'),
  })
  .describe('A service level objective.')
  .meta({ examples: [{ name: 'fast', site: 'shop', kind: 'latency', objective: 0.99, threshold_ms: 300 }] })

/** Each alert is evaluated four times a minute over the series of its metric. */
const MAX_ALERTS = 100
const MAX_LABELS = 8

const alert = z
  .strictObject({
    name: text().max(100).describe('Unique name of the alert.'),
    metric: z
      .string()
      .regex(/^[a-zA-Z_:][a-zA-Z0-9_:]*$/, 'expected a metric name')
      .describe('Metric to watch.'),
    labels: z
      .record(text(), z.string())
      .refine((labels) => Object.keys(labels).length <= MAX_LABELS, `expected at most ${MAX_LABELS} labels`)
      .default({})
      .describe('Labels that the series must have. The value is the sum of all that have them.'),
    above: z.number().optional().describe('Fires if the value is greater; of a counter, its increase within 5 minutes.'),
    below: z.number().optional().describe('Fires if the value is less.'),
    for_secs: integer(0).default(60).describe('Seconds that the condition must hold before the alert fires.'),
    hint: z.string().max(500).default('').describe('Advice for the person who gets the alert.'),
  })
  .describe('An alert on a metric.')
  .meta({ examples: [{ name: 'memory', metric: 'process_resident_memory_bytes', above: 4e9, hint: 'look for a leak' }] })

/** `[obs]`. */
export const obs = section('Flows, service level objectives and alerts.', {
  slow_ms: integer(1).default(1000).describe('Milliseconds from which a request is recorded as a slow flow.'),
  slos: z.array(slo).max(MAX_SLOS).default([]).describe('Service level objectives.'),
  alerts: z.array(alert).max(MAX_ALERTS).default([]).describe('Alerts in addition to the built-in ones.'),
})
