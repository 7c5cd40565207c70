import * as z from 'zod'
import { filePath, integer } from './fields.ts'

const l0 = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Whether workers keep ready-made responses in memory.'),
    max_bytes: integer(0).default(67_108_864).describe('Memory of the L0 cache per worker, in bytes.'),
    max_entry_bytes: integer(0).default(1_048_576).describe('Largest response that L0 keeps, in bytes.'),
  })
  .prefault({})
  .describe('Response cache in each worker.')

const isr = z
  .strictObject({
    max_entries: integer(0).default(10_000).describe('Most entries of the ISR cache.'),
    max_bytes: integer(0).default(1_073_741_824).describe('Size of the ISR cache in bytes.'),
    default_ttl_ms: integer(0).default(60_000).describe('Milliseconds an entry is fresh when its page does not say.'),
    default_swr_ms: integer(0)
      .default(3_600_000)
      .describe('Milliseconds after that during which a stale entry is served while it is rendered anew.'),
    l2_enabled: z.boolean().default(false).describe('Whether entries are also written to the shared key-value store.'),
    l2_ttl_ms: integer(1).default(300_000).describe('Milliseconds an entry lives in the shared key-value store.'),
  })
  .prefault({})
  .describe('Cache of server-rendered responses.')

const proxy = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Whether proxied and FastCGI responses are cached where a location asks for it.'),
    max_bytes: integer(0).default(1_073_741_824).describe('Size of the proxy cache in bytes.'),
  })
  .prefault({})
  .describe('Cache of proxied and FastCGI responses.')

/** `[cache]`: the cache directory and the layers. */
export const cache = z
  .strictObject({
    dir: filePath()
      .optional()
      .describe('Directory of everything cached on disk.')
      .meta({
        computed: '`/var/cache/svc`; as non-root `.svc/cache` beside the config file',
        examples: ['/var/cache/svc'],
      }),
    l0,
    isr,
    proxy,
  })
  .prefault({})
  .describe('Cache directory and cache layers.')
