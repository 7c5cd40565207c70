import * as z from 'zod'
import { filePath, identifier, integer, section, urlPath } from './fields.ts'

/** `[render]`: render hosts, threads and isolates. */
export const render = section('Server-side rendering: hosts, threads, isolates.', {
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
    .describe('Memory of a render host in MiB past which it is replaced. Some memory is not covered by the limit of an isolate.'),
})

/** `[scaling]`: one instance among several. */
export const scaling = section('Several instances behind a load balancer.', {
  health_path: urlPath()
    .default('/__svc/health')
    .describe('Path of the health report for load balancers, in addition to health.path.'),
  graceful_shutdown_timeout_secs: integer(0).default(30).describe('Seconds that requests in flight have to finish at shutdown.'),
  session_affinity: z
    .enum(['none', 'cookie', 'ip_hash'])
    .default('none')
    .describe('Method by which a load balancer keeps a client on one instance.'),
  session_cookie_name: z
    .string()
    .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, 'expected a cookie name (RFC 6265 section 4.1.1)')
    .default('SVC_SID')
    .describe('Name of the affinity cookie.'),
  instance_id: identifier()
    .optional()
    .describe('Name of this instance, for example in the CDN-Loop field of requests that its sites send.')
    .meta({ computed: 'the host name and a short hash', examples: ['web-1'] }),
})

/** `[deploy]`: where releases come from. */
export const deploy = section('Deployment over the management interface.', {
  sources: z
    .array(filePath())
    .default([])
    .describe('Directories from which releases may be deployed, beside `<state_dir>/incoming`.')
    .meta({ examples: [['/srv/releases']] }),
  max_bytes: integer(1)
    .default(1_073_741_824)
    .describe('Maximum size of an archive, and of the release that is unpacked from it, in bytes.'),
})
