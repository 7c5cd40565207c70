import * as z from 'zod'
import { cidr, integer } from './fields.ts'

/** `[rate_limit]`: the budget per client address. */
export const rateLimit = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Limits requests per client address.'),
    requests_per_minute: integer(1)
      .default(600)
      .describe('Maximum requests per minute for each client address (IPv6: each /64).'),
    distributed: z.boolean().default(false).describe('Shares one budget among all instances through the key-value store.'),
    exempt: z.array(cidr()).default([]).describe('Networks without a limit, in CIDR notation.'),
  })
  .prefault({})
  .describe('Rate limit per client address.')
