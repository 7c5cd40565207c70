import * as z from 'zod'
import { hostPattern, text } from './fields.ts'

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
