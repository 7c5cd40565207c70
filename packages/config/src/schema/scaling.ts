import * as z from 'zod'
import { filePath, identifier, integer, urlPath } from './fields.ts'

/** `[scaling]`: one instance among several. */
export const scaling = z
  .strictObject({
    health_path: urlPath()
      .default('/__svc/health')
      .describe('Path of the health report for load balancers, in addition to health.path.'),
    graceful_shutdown_timeout_secs: integer(0)
      .default(30)
      .describe('Seconds that requests in flight have to finish at shutdown.'),
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
  .prefault({})
  .describe('Several instances behind a load balancer.')

/** `[deploy]`: where releases come from. */
export const deploy = z
  .strictObject({
    sources: filePath()
      .optional()
      .describe('Directory from which releases may be deployed.')
      .meta({ computed: '`<state_dir>/incoming`', examples: ['/var/lib/svc/incoming'] }),
    max_bytes: integer(1).default(1_073_741_824).describe('Maximum size of an unpacked release, in bytes.'),
  })
  .prefault({})
  .describe('Deployment over the management interface.')
