import * as z from 'zod'
import { isFetchTarget } from '../values/addresses.ts'
import { environment, filePath, hostPattern, identifier, text } from './fields.ts'
import { routeRules } from './route-rules.ts'

const fetchTarget = z.string().refine(isFetchTarget, 'expected a host name, an address, a CIDR or host:port')

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
    maintenance: z.boolean().default(false).describe('Answers every request with 503.'),
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
