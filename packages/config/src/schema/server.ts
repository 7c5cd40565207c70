import * as z from 'zod'
import { cidr, filePath, hostPort, integer } from './fields.ts'

/** `[server]`: addresses, processes, request limits, directories. */
export const server = z
  .strictObject({
    listen: hostPort()
      .default('127.0.0.1:8080')
      .describe(
        'Plain HTTP address. Port 0 picks a free one, printed in the ready line. The default is opened only if neither listen_tls nor a vhost file names an address.',
      ),
    listen_tls: hostPort()
      .optional()
      .describe('HTTPS address; the certificate is chosen by SNI over all certificates.')
      .meta({ examples: ['0.0.0.0:8443'] }),
    workers: integer(0, 1024).default(0).describe('Connection worker processes. 0: one per core.'),
    engine: z
      .enum(['uws', 'node'])
      .default('uws')
      .describe(
        'HTTP engine: "uws" is uWebSockets.js; "node" is node:http and node:http2, for HTTP/2 and for platforms without a uWebSockets.js binary.',
      ),
    vhosts: z
      .array(filePath())
      .default([])
      .describe('Virtual host files in the grammar of nginx, by globs; see docs/vhosts.md.')
      .meta({ examples: [['vhosts/*.conf']] }),
    trusted_proxies: z
      .array(cidr())
      .default([])
      .describe('Networks whose X-Forwarded-* and Forwarded fields are believed (CIDR notation).'),
    loopback_trust: z.boolean().default(true).describe('Whether a TCP connection from loopback opens the loopback endpoints.'),
    max_header_bytes: integer(1024, 1_048_576).default(16_384).describe('Largest request head in bytes; past it 431.'),
    max_body_bytes: integer(0).default(10_485_760).describe('Largest request body in bytes; past it 413.'),
    request_timeout_secs: integer(1)
      .default(30)
      .describe(
        'Seconds from the end of the request head until the response head is sent; past it 408 if the body is incomplete, else 504. Not for WebSocket or SSE.',
      ),
    idle_timeout_secs: integer(1)
      .default(60)
      .describe(
        'Seconds until an idle connection is closed, on engine "node". On engine "uws" idle connections end after 8 to 12 s whatever is set.',
      ),
    state_dir: filePath()
      .optional()
      .describe('Directory of state that outlives a restart.')
      .meta({
        computed: '`/var/lib/svc`; as non-root `.svc/state` beside the config file',
        examples: ['/var/lib/svc'],
      }),
    run_dir: filePath()
      .optional()
      .describe('Directory of the pid file and the sockets.')
      .meta({
        computed: '`/run/svc`; as non-root `/tmp/svc-<uid>-<hash>`, by the directory of the config file',
        examples: ['/run/svc'],
      }),
  })
  .prefault({})
  .describe('Addresses, processes, limits of requests, directories.')
