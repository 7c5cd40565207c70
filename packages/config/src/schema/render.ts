import * as z from 'zod'
import { integer } from './fields.ts'

/** `[render]`: render hosts, threads and isolates. */
export const render = z
  .strictObject({
    workers: integer(0, 1024).default(0).describe('Maximum render threads of one site in one render host. 0: one per core.'),
    hosts: integer(1, 64).default(1).describe('Render host processes shared by the sites without a process of their own.'),
    concurrency: integer(1, 1024).default(16).describe('Maximum requests in flight in one isolate.'),
    queue_max: integer(0).default(512).describe('Maximum waiting renders per site. Further ones get 503 with Retry-After.'),
    timeout_ms: integer(1)
      .default(10_000)
      .describe(
        'Time limit of one render in milliseconds. Past it the response is 504; an isolate that does not yield is disposed of.',
      ),
    memory_limit_mb: integer(8).default(128).describe('Memory limit of one isolate in MiB. An isolate past it is disposed of.'),
    idle_secs: integer(1).default(300).describe('Seconds after which an idle render thread is closed.'),
    max_threads: integer(1)
      .optional()
      .describe('Maximum render threads of one host, for all sites together. The pool that was idle longest is closed first.')
      .meta({
        computed: 'four per core',
        examples: [16],
      }),
    max_isolates: integer(1).default(200).describe('Maximum isolates of one host, for all sites together.'),
    host_memory_limit_mb: integer(64)
      .default(2048)
      .describe(
        'Memory of a render host in MiB past which it is replaced. Some memory is not covered by the limit of an isolate.',
      ),
  })
  .prefault({})
  .describe('Server-side rendering: hosts, threads, isolates.')
