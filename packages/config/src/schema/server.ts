import * as z from 'zod'
import { parseUrl } from '../values/addresses.ts'
import { cidr, filePath, hostPort, integer, section } from './fields.ts'

/** `[server]`: addresses, processes, request limits, directories. */
export const server = section('Addresses, processes, request limits, directories.', {
  listen: hostPort()
    .default('127.0.0.1:8080')
    .describe(
      'Address for plain HTTP. Port 0 picks a free port; the ready line shows it. The default is opened only if neither listen_tls nor a vhost file names an address.',
    ),
  listen_tls: hostPort()
    .optional()
    .describe('Address for HTTPS. SNI selects among all certificates.')
    .meta({ examples: ['0.0.0.0:8443'] }),
  workers: integer(0, 1024).default(0).describe('Connection worker processes. 0: one per core.'),
  engine: z
    .enum(['uws', 'node'])
    .default('uws')
    .describe(
      'HTTP engine of plain addresses. "uws" is uWebSockets.js. "node" is node:http, for HTTP/1.0 clients, strict parsing behind a proxy, and platforms without a uWebSockets.js binary.',
    ),
  engine_tls: z
    .enum(['uws', 'node'])
    .default('node')
    .describe(
      'HTTP engine of TLS addresses. "node" speaks HTTP/2 and HTTP/1.1, "uws" HTTP/1.1 alone, with several times the requests for each core. Both run side by side; a vhost file chooses for its addresses with http2 or svc_engine.',
    ),
  vhosts: z
    .array(filePath())
    .default([])
    .describe('Globs of vhost files in nginx syntax; see docs/vhosts/guide.md.')
    .meta({ examples: [['vhosts/*.conf']] }),
  trusted_proxies: z
    .array(cidr())
    .default([])
    .describe('Networks, in CIDR notation, of proxies whose X-Forwarded-* and Forwarded fields are trusted.'),
  loopback_trust: z.boolean().default(true).describe('Lets TCP connections from loopback use the loopback endpoints.'),
  max_header_bytes: integer(1024, 1_048_576)
    .default(16_384)
    .describe('Maximum size of a request head in bytes. A larger one gets 431.'),
  max_body_bytes: integer(0).default(10_485_760).describe('Maximum size of a request body in bytes. A larger one gets 413.'),
  request_timeout_secs: integer(1)
    .default(30)
    .describe(
      'Seconds from the end of the request head to the response head. Past it the response is 408 if the body is incomplete, otherwise 504. Does not limit WebSockets and event streams.',
    ),
  idle_timeout_secs: integer(1)
    .default(60)
    .describe(
      'Seconds until engine "node" closes an idle connection. Engine "uws" closes idle connections after 8 to 12 s in any case.',
    ),
  state_dir: filePath()
    .optional()
    .describe('Directory of state that survives a restart.')
    .meta({
      computed: '`/var/lib/svc`; for a user other than root, `.svc/state` beside the config file',
      examples: ['/var/lib/svc'],
    }),
  run_dir: filePath()
    .optional()
    .describe('Directory of the pid file and the sockets.')
    .meta({
      computed:
        '`/run/svc`; for a user other than root, `/tmp/svc-<uid>-<hash>`, with a hash of the directory of the config file',
      examples: ['/run/svc'],
    }),
})

const certificate = z
  .strictObject({
    cert: filePath().describe('Certificate chain in PEM form.'),
    key: filePath().describe('Private key in PEM form.'),
  })
  .describe('A certificate and its key.')
  .meta({ examples: [{ cert: 'tls/example.org.pem', key: 'tls/example.org.key' }] })

/** `[tls]`: certificates, of files and automatic ones. */
export const tls = section('TLS certificates and versions.', {
  min_version: z.enum(['1.2', '1.3']).default('1.2').describe('Lowest TLS version. "1.3" is not available on engine "uws".'),
  certs: z.array(certificate).default([]).describe('Certificates from files. SNI selects among them.'),
  auto: z.boolean().default(false).describe('Obtains certificates over ACME for host names that have none.'),
  email: z
    .string()
    .regex(/^[^\s@]+@[^\s@]+$/, 'expected a mail address')
    .optional()
    .describe('Contact address for the certificate authority.')
    .meta({ examples: ['admin@example.org'] }),
  acme_directory: z
    .string()
    .refine((value) => parseUrl(value, ['https', 'http']) !== undefined, 'expected an https URL')
    .default('https://acme-v02.api.letsencrypt.org/directory')
    .describe('Directory URL of the ACME server (RFC 8555 section 7.1.1).'),
  redirect_http: z.boolean().default(false).describe('Redirects plain HTTP of a host with a certificate to https (308).'),
  hsts_max_age_secs: integer(0)
    .default(0)
    .describe('max-age of the Strict-Transport-Security field, in seconds. 0: the field is not sent.'),
})
