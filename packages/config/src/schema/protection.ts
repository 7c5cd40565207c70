import * as z from 'zod'
import { MAX_WAF_RULES } from '../values/waf-pattern.ts'
import { cidr, identifier, integer, section, text } from './fields.ts'

/** Bounds of a rule. */
const MAX_NETWORKS = 1000
const MAX_FIELDS = 16

const pack = () => z.enum(['off', 'monitor', 'block']).default('off')

/** A pattern of RE2's grammar. */
const pattern = (description: string) => text().describe(description)

const fieldName = () => z.string().regex(/^[a-z0-9!#$%&'*+.^_`|~-]{1,128}$/, 'expected the name of a header field in lower case')

const conditions = z
  .strictObject({
    ip: z.array(cidr()).min(1).max(MAX_NETWORKS).optional().describe('Client networks.'),
    path: pattern('Pattern of the path (RE2).').optional(),
    method: pattern('Pattern of the method (RE2).').optional(),
    header: z
      .record(fieldName(), pattern('Pattern of the field (RE2).'))
      .refine((fields) => Object.keys(fields).length <= MAX_FIELDS, `expected at most ${MAX_FIELDS} header fields`)
      .optional()
      .describe('Patterns by lower-case header name (RE2).'),
    query: pattern('Pattern of the query (RE2).').optional(),
    user_agent: pattern('Pattern of the User-Agent field (RE2).').optional(),
    body: pattern('Pattern of the body (RE2).').optional(),
  })
  .refine((when) => Object.keys(when).length > 0, 'expected at least one condition')
  .describe('Conditions. All must hold.')

const rate = z
  .strictObject({
    count: integer(1, 1_000_000_000).describe('Matches allowed per client address.'),
    window_secs: integer(1, 86_400).describe('Length of the window in seconds.'),
  })
  .describe('Makes the rule act only above a rate.')

/** `[[waf.rules]]`. Its patterns are to be checked by `patternProblems`. */
export const wafRule = z
  .strictObject({
    id: identifier().describe('Unique name of the rule.'),
    site: identifier().optional().describe('Applies only to requests for this site.'),
    action: z.enum(['block', 'monitor']).describe('Blocks a matching request, or only counts it.'),
    when: conditions,
    rate: rate.optional().describe('Makes the rule act only above a rate.'),
  })
  .describe('A rule of the firewall.')
  .meta({
    examples: [
      {
        id: 'login-flood',
        site: 'shop',
        action: 'block',
        when: { path: '^/login$', method: '^POST$' },
        rate: { count: 10, window_secs: 60 },
      },
    ],
  })

/** `[waf]`: the web application firewall. */
export const waf = section('Web application firewall.', {
  mode: z.enum(['off', 'monitor', 'block']).default('block').describe('Strongest action that any rule or pack may take.'),
  packs: section('Built-in rule packs.', {
    traversal: pack().describe('Path traversal.'),
    sqli: pack().describe('SQL injection.'),
    xss: pack().describe('Cross-site scripting.'),
    scanner: pack().describe('Vulnerability scanners.'),
    protocol: pack().describe('Malformed or suspicious protocol use.'),
  }),
  rules: z
    .array(wafRule)
    .max(MAX_WAF_RULES, `expected at most ${MAX_WAF_RULES} rules`)
    .default([])
    .describe('Rules, in this order.'),
})

/** `[rate_limit]`: the budget per client address. */
export const rateLimit = section('Rate limit per client address.', {
  enabled: z.boolean().default(false).describe('Limits requests per client address.'),
  requests_per_minute: integer(1).default(600).describe('Maximum requests per minute for each client address (IPv6: each /64).'),
  distributed: z.boolean().default(false).describe('Shares one budget among all instances through the key-value store.'),
  exempt: z.array(cidr()).default([]).describe('Networks without a limit, in CIDR notation.'),
})
