import * as z from 'zod'
import { cidr, integer } from './fields.ts'

/** `[rate_limit]`: the budget per client address. */
export const rateLimit = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Whether requests are limited per client address.'),
    requests_per_minute: integer(1).default(600).describe('Requests per minute and client address (IPv6: per /64).'),
    distributed: z.boolean().default(false).describe('Whether all instances share one budget through the key-value store.'),
    exempt: z.array(cidr()).default([]).describe('Networks without a limit (CIDR notation).'),
  })
  .prefault({})
  .describe('Rate limit per client address.')
