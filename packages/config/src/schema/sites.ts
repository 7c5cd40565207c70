import * as z from 'zod'
import { isFetchTarget } from '../values/addresses.ts'
import { environment, filePath, hostPattern, identifier, integer, section, text } from './fields.ts'

const redirectStatus = z.literal([301, 302, 303, 307, 308])

const fieldName = z.string().regex(/^[!#$%&'*+\-.^_`|~0-9a-z]+$/, 'expected a lower-case header name')
const fieldValue = z.string().regex(/^[^\r\n\0]*$/, 'expected a header value without line breaks')

const routeRule = z
  .strictObject({
    pattern: z
      .string()
      .startsWith('/')
      .describe('Path pattern. `:name` matches one segment, `*` the rest of a segment, `**` the rest of the path.'),
    host: hostPattern().optional().describe('Matches only requests for this host.'),
    methods: z
      .array(z.string().regex(/^[A-Z]+$/))
      .min(1)
      .optional()
      .describe('Matches only requests with one of these methods.'),
    rewrite: z.string().startsWith('/').optional().describe('New path; may contain `:name`. The query is kept.'),
    upstream: text().optional().describe('URL, or name of an upstream of a vhost file, to proxy the request to.'),
    strip_prefix: z.string().startsWith('/').optional().describe('Prefix to remove from the path before proxying.'),
    action: z
      .enum(['redirect', 'rewrite', 'proxy', 'headers', 'block'])
      .optional()
      .describe('Action of the rule.')
      .meta({ computed: 'derived from the keys that are set' }),
    redirect: text().optional().describe('Target of a redirect; may contain `:name`.'),
    redirect_status: redirectStatus.default(308).describe('Status of a redirect.'),
    headers: z.record(fieldName, fieldValue).default({}).describe('Response fields to set, also on redirects.'),
  })
  .describe('A rule for requests whose path matches. The first match wins.')
  .meta({
    examples: [
      { pattern: '/old/:page', host: 'shop.example.org', methods: ['GET', 'HEAD'], action: 'redirect', redirect: '/new/:page' },
      { pattern: '/blog/:page', rewrite: '/articles/:page' },
      { pattern: '/api/**', upstream: 'http://127.0.0.1:9000', strip_prefix: '/api' },
      { pattern: '/**', headers: { 'x-frame-options': 'DENY' } },
    ],
  })

/** `[[route_rules]]`, global and of a site. */
export const routeRules = () => z.array(routeRule).default([])

const fetchTarget = z.string().refine(isFetchTarget, 'expected a host name, an address, a CIDR or host:port')

const A_DAY_SECS = 86_400

const maintenance = z.strictObject({
  message: text().max(500).optional(),
  retry_after_secs: integer(1, A_DAY_SECS).optional(),
})

const site = z
  .strictObject({
    id: identifier().describe('Unique name of the site.'),
    label: identifier()
      .optional()
      .describe('Unique name of the site in cache tags and purges.')
      .meta({ computed: 'the value of `id`' }),
    hostnames: z.array(hostPattern()).min(1).describe('Host names: exact names and `*.suffix`.'),
    root: filePath().describe('Directory of the site.'),
    public: filePath().optional().describe('Directory of static files.').meta({ computed: '`<root>/public`' }),
    process: z
      .enum(['in-process', 'own'])
      .default('in-process')
      .describe('Process that renders the site: a shared render host, or a process with a systemd unit of its own.'),
    tenant: text().optional().describe('Tenant that owns the site.'),
    tls_cert: filePath().optional().describe('Certificate chain in PEM form.'),
    tls_key: filePath().optional().describe('Private key in PEM form.'),
    env: environment().default({}).describe('Environment variables of this site.'),
    fetch_allow: z
      .array(fetchTarget)
      .default([])
      .describe(
        'Targets on this machine and in private networks that the site may fetch: host names, addresses, CIDRs, `host:port`.',
      ),
    mode: z
      .enum(['production', 'development'])
      .default('production')
      .describe('In development mode, error pages show source text and edits take effect at once.'),
    maintenance: z
      .union([z.boolean(), maintenance])
      .default(false)
      .describe(
        'Answers every request with 503. A table has `message`, a plain text of at most 500 characters, and `retry_after_secs` (default: 120), the seconds of Retry-After.',
      ),
    cache_weight: z
      .number()
      .min(0.01)
      .max(100)
      .default(1)
      .describe('Share of the caches that the site may fill when others need room, relative to other sites. 0.01 to 100.'),
    route_rules: routeRules().describe('Rules of this site. They come after the global rules.'),
  })
  .describe('A site served by host name.')
  .meta({
    examples: [
      {
        id: 'shop',
        label: 'shop',
        hostnames: ['shop.example.org', '*.shop.example.org'],
        root: 'sites/shop',
        public: 'sites/shop/public',
        tenant: 'shop',
        tls_cert: 'tls/shop.pem',
        tls_key: 'tls/shop.key',
      },
    ],
  })

const app = z
  .strictObject({
    name: identifier().describe('Id and label of the site.'),
    hostname: hostPattern().describe('Host name.'),
    source: filePath().describe('Directory of the site.'),
  })
  .describe('A site of a platform file.')
  .meta({ examples: [{ name: 'docs', hostname: 'docs.example.org', source: 'apps/docs' }] })

/** `[[sites]]`. */
export const sites = z.array(site).default([]).describe('Sites, each served by host name.')

/** `[[apps]]`. */
export const apps = z.array(app).default([]).describe('Sites of a platform file.')

const task = z
  .strictObject({
    name: text().describe('Unique name of the task.'),
    schedule: z
      .string()
      .regex(/^\s*\S+(\s+\S+){4,5}\s*$/, 'expected a cron expression of 5 or 6 fields')
      .describe('Cron expression of 5 or 6 fields, in the local time zone.'),
    handler: z
      .string()
      .regex(/^http::[A-Z]+ \/\S*$/, 'expected "http::GET /path"')
      .describe('Request to make, as `http::GET /path`.'),
    enabled: z.boolean().default(true).describe('Enables the task.'),
    host: hostPattern().optional().describe('Host of the request.').meta({ computed: 'the first site' }),
    timeout_secs: integer(1).default(60).describe('Seconds after which a run counts as failed.'),
    overlap: z
      .enum(['skip', 'queue'])
      .default('skip')
      .describe('Handling of a run that is due while the previous one is still running.'),
  })
  .describe('A request made on a schedule.')
  .meta({ examples: [{ name: 'nightly', schedule: '0 3 * * *', handler: 'http::GET /tasks/nightly', host: 'shop.example.org' }] })

/** `[[tasks]]`. */
export const tasks = z.array(task).default([]).describe('Requests made on a schedule.')

/** `[plugins]`. */
export const plugins = section('Plugins.', {
  directory: filePath()
    .optional()
    .describe('Directory of plugin modules. Without it, no plugin is loaded.')
    .meta({ examples: ['plugins'] }),
})
