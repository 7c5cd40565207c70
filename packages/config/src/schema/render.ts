import * as z from 'zod'
import { integer } from './fields.ts'

/** `[render]`: render hosts, threads and isolates. */
export const render = z
  .strictObject({
    workers: integer(0, 1024)
      .default(0)
      .describe('Most render threads that one site may have in one render host. 0: one per core.'),
    hosts: integer(1, 64).default(1).describe('Render host processes that the in-process sites share.'),
    concurrency: integer(1, 1024).default(16).describe('Requests in flight in one isolate.'),
    queue_max: integer(0).default(512).describe('Waiting renders per site; past it 503 with Retry-After.'),
    timeout_ms: integer(1)
      .default(10_000)
      .describe('Wall time of one render in milliseconds; past it 504 and, if the isolate does not yield, its disposal.'),
    memory_limit_mb: integer(8).default(128).describe('Memory of one isolate in MiB; past it the isolate is disposed.'),
    idle_secs: integer(1).default(300).describe('Seconds after which an idle render thread is closed.'),
    max_threads: integer(1)
      .optional()
      .describe('Most render threads per host, over all sites: the longest idle pool is closed first.')
      .meta({
        computed: 'four per core',
        examples: [16],
      }),
    max_isolates: integer(1).default(200).describe('Most isolates per host, over all sites.'),
    host_memory_limit_mb: integer(64)
      .default(2048)
      .describe('A render host past this many MiB is replaced, since some memory escapes the limit of an isolate.'),
  })
  .prefault({})
  .describe('Server-side rendering: hosts, threads, isolates.')
