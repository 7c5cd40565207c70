import * as z from 'zod'
import { hostPattern, integer, text } from './fields.ts'

const task = z
  .strictObject({
    name: text().describe('Unique name of the task.'),
    schedule: z
      .string()
      .regex(/^\s*\S+(\s+\S+){4,5}\s*$/, 'expected a cron expression of 5 or 6 fields')
      .describe('Cron expression of 5 or 6 fields, in the local time zone.'),
    handler: z
      .string()
      .regex(/^http::[A-Z]+ \/\S*$/, 'expected "http::GET /path"')
      .describe('Request to make, as `http::GET /path`.'),
    enabled: z.boolean().default(true).describe('Enables the task.'),
    host: hostPattern().optional().describe('Host of the request.').meta({ computed: 'the first site' }),
    timeout_secs: integer(1).default(60).describe('Seconds after which a run counts as failed.'),
    overlap: z
      .enum(['skip', 'queue'])
      .default('skip')
      .describe('Handling of a run that is due while the previous one is still running.'),
  })
  .describe('A request made on a schedule.')
  .meta({ examples: [{ name: 'nightly', schedule: '0 3 * * *', handler: 'http::GET /tasks/nightly', host: 'shop.example.org' }] })

/** `[[tasks]]`. */
export const tasks = z.array(task).default([]).describe('Requests made on a schedule.')
