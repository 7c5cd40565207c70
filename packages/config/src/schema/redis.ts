import * as z from 'zod'
import { isRedisUrl } from '../values/addresses.ts'
import { integer, secret } from './fields.ts'

/** `[redis]`: the shared key-value store. */
export const redis = z
  .strictObject({
    url: secret()
      .refine(isRedisUrl, 'expected redis://, rediss:// or a comma-separated list of cluster nodes')
      .optional()
      .describe('Address: redis://, rediss://, or a comma-separated list of cluster nodes.')
      .meta({ examples: ['redis://127.0.0.1:6379'] }),
    pool_size: integer(1, 1024).default(16).describe('Connections of each instance.'),
    key_prefix: z.string().default('svc:').describe('Prefix of every key.'),
  })
  .prefault({})
  .describe('Key-value store that several instances share.')
