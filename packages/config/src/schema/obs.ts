import * as z from 'zod'
import { identifier, integer, text } from './fields.ts'

const slo = z
  .strictObject({
    name: text().describe('Name of the objective, unique.'),
    site: identifier().optional().describe('Only requests of this site.'),
    kind: z.enum(['availability', 'latency']).describe('What counts as good: no 5xx, or an answer in time.'),
    objective: z.number().gt(0).lt(1).describe('Share of good requests, such as 0.999.'),
    threshold_ms: integer(1).optional().describe('Milliseconds that count as in time; kind "latency" needs it.'),
    window_days: integer(1, 90).default(30).describe('Days over which the share is taken.'),
  })
  .describe('A service level objective.')
  .meta({ examples: [{ name: 'fast', site: 'shop', kind: 'latency', objective: 0.99, threshold_ms: 300 }] })

const alert = z
  .strictObject({
    name: text().describe('Name of the alert, unique.'),
    metric: z
      .string()
      .regex(/^[a-zA-Z_:][a-zA-Z0-9_:]*$/, 'expected a metric name')
      .describe('Metric that is watched.'),
    labels: z.record(text(), z.string()).default({}).describe('Labels that the series must have.'),
    above: z.number().optional().describe('Fires when the value is greater.'),
    below: z.number().optional().describe('Fires when the value is less.'),
    for_secs: integer(0).default(60).describe('Seconds that it must hold before the alert fires.'),
    hint: z.string().default('').describe('What to do about it.'),
  })
  .describe('An alert on a metric.')
  .meta({ examples: [{ name: 'memory', metric: 'process_resident_memory_bytes', above: 4e9, hint: 'look for a leak' }] })

/** `[obs]`: objectives and alerts. */
export const obs = z
  .strictObject({
    slos: z.array(slo).default([]).describe('Service level objectives.'),
    alerts: z.array(alert).default([]).describe('Alerts beside the built-in ones.'),
  })
  .prefault({})
  .describe('Service level objectives and alerts.')
