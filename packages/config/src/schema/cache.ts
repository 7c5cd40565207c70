import * as z from 'zod'
import { isRedisUrl } from '../values/addresses.ts'
import { filePath, integer, secret, section } from './fields.ts'

const l0 = section('Response cache in each worker.', {
  enabled: z.boolean().default(true).describe('Enables L0: each worker caches responses in memory, ready to send.'),
  max_bytes: integer(0).default(67_108_864).describe('Size of the L0 cache of one worker, in bytes.'),
  max_entry_bytes: integer(0).default(1_048_576).describe('Largest response that L0 caches, in bytes.'),
})

const isr = section('Cache of rendered pages.', {
  max_entries: integer(0).default(10_000).describe('Maximum number of entries in the ISR cache.'),
  max_bytes: integer(0).default(1_073_741_824).describe('Size of the ISR cache in bytes.'),
  default_ttl_ms: integer(0)
    .default(60_000)
    .describe('Milliseconds that an entry stays fresh if its page sets no revalidate time.'),
  default_swr_ms: integer(0)
    .default(3_600_000)
    .describe('Milliseconds after that in which a stale entry is served while it is rendered in the background.'),
  l2_enabled: z
    .boolean()
    .default(false)
    .describe('Shares pages and upstream responses with other instances in Redis; see docs/scale-out.md.'),
  l2_ttl_ms: integer(1).default(300_000).describe('Milliseconds that an entry lives in Redis at most.'),
})

const proxy = section('Cache of HTTP and FastCGI upstream responses.', {
  enabled: z.boolean().default(true).describe('Caches upstream responses: of locations that enable it, and of route rules.'),
  max_bytes: integer(0).default(1_073_741_824).describe('Size of the proxy cache in bytes.'),
})

/** `[cache]`: the cache directory and the layers. */
export const cache = section('The cache directory.', {
  dir: filePath()
    .optional()
    .describe('Directory of the caches on disk.')
    .meta({
      computed: '`/var/cache/svc`; for a user other than root, `.svc/cache` beside the config file',
      examples: ['/var/cache/svc'],
    }),
  l0,
  isr,
  proxy,
})

/** `[redis]`: the shared key-value store. */
export const redis = section('Redis or Valkey that several instances share; see docs/scale-out.md.', {
  url: secret()
    .refine(
      isRedisUrl,
      'expected redis://, rediss://, unix:///path, redis-sentinel://host,host/name or a comma-separated list of cluster nodes',
    )
    .optional()
    .describe(
      'Address: redis://, rediss://, unix:///path, redis-sentinel://host,host/name, or a comma-separated list of cluster nodes.',
    )
    .meta({ examples: ['redis://127.0.0.1:6379'] }),
  pool_size: integer(1, 1024).default(16).describe('Connections of each instance.'),
  key_prefix: z.string().default('svc:').describe('Prefix of every key.'),
})
