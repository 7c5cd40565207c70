import * as z from 'zod'
import { identifier, integer, text } from './fields.ts'

const slo = z
  .strictObject({
    name: text().describe('Unique name of the objective.'),
    site: identifier().optional().describe('Counts only requests of this site.'),
    kind: z.enum(['availability', 'latency']).describe('Definition of a good request: no 5xx, or a response in time.'),
    objective: z.number().gt(0).lt(1).describe('Target share of good requests, such as 0.999.'),
    threshold_ms: integer(1).optional().describe('Milliseconds within which a response is in time. Required for kind "latency".'),
    window_days: integer(1, 90).default(30).describe('Days over which the share is computed.'),
  })
  .describe('A service level objective.')
  .meta({ examples: [{ name: 'fast', site: 'shop', kind: 'latency', objective: 0.99, threshold_ms: 300 }] })

const alert = z
  .strictObject({
    name: text().describe('Unique name of the alert.'),
    metric: z
      .string()
      .regex(/^[a-zA-Z_:][a-zA-Z0-9_:]*$/, 'expected a metric name')
      .describe('Metric to watch.'),
    labels: z.record(text(), z.string()).default({}).describe('Labels that the series must have.'),
    above: z.number().optional().describe('Fires if the value is greater.'),
    below: z.number().optional().describe('Fires if the value is less.'),
    for_secs: integer(0).default(60).describe('Seconds that the condition must hold before the alert fires.'),
    hint: z.string().default('').describe('Advice for the person who gets the alert.'),
  })
  .describe('An alert on a metric.')
  .meta({ examples: [{ name: 'memory', metric: 'process_resident_memory_bytes', above: 4e9, hint: 'look for a leak' }] })

/** `[obs]`: objectives and alerts. */
export const obs = z
  .strictObject({
    slos: z.array(slo).default([]).describe('Service level objectives.'),
    alerts: z.array(alert).default([]).describe('Alerts in addition to the built-in ones.'),
  })
  .prefault({})
  .describe('Service level objectives and alerts.')
