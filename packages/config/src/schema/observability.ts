import * as z from 'zod'
import { parseUrl } from '../values/addresses.ts'
import { text, urlPath } from './fields.ts'

/** `[metrics]`. */
export const metrics = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Exposes metrics.'),
    path: urlPath().default('/__svc/metrics').describe('Path of the metrics, in the text exposition format.'),
    include_process: z.boolean().default(true).describe('Includes the process_* metrics.'),
  })
  .prefault({})
  .describe('Metrics endpoint.')

/** `[health]`. */
export const health = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Exposes the health report.'),
    path: urlPath().default('/__svc/health').describe('Path of the health report.'),
    include_details: z.boolean().default(true).describe('Lists the state of each component in the report.'),
  })
  .prefault({})
  .describe('Health endpoint.')

/** `[telemetry]`. */
export const telemetry = z
  .strictObject({
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
  .prefault({})
  .describe('Export of traces and metrics over OTLP.')

/** `[logging]`. */
export const logging = z
  .strictObject({
    level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal']).default('info').describe('Lowest severity to log.'),
    access: z.boolean().default(true).describe('Writes an access line for every request.'),
    format: z
      .enum(['json', 'pretty'])
      .optional()
      .describe('Format of log lines.')
      .meta({ computed: '"json"; "pretty" on a terminal', examples: ['json'] }),
  })
  .prefault({})
  .describe('Log lines on standard error, access lines on standard output.')
