import * as z from 'zod/mini'
import { integer, list, oneOf, text } from '../../../contract/schemas.ts'

const pattern = (description: string) => z.optional(text(`${description}, as a pattern (RE2).`, 1000))

/** The id of a new rule. It is shorter than one in the configuration may be: see `tenant-waf.ts`. */
export const ruleId = () =>
  z
    .string()
    .check(
      z.regex(/^[a-z0-9][a-z0-9._-]{0,53}$/, 'expected 1 to 54 characters of a-z, 0-9, ".", "_" and "-"'),
      z.describe('Id of the rule.'),
    )

/** A rule as responses show it. */
export const ruleSchema = () => z.object({ id: z.string(), ...ruleFields() })

/** The fields of a rule but its id. */
export const ruleFields = () => ({
  site: z.optional(text('Id of the site that it is bound to; every site if it is left out.')),
  action: oneOf(['block', 'monitor'], 'Effect on a request that matches.'),
  when: z
    .strictObject({
      ip: z.optional(list(text('Address or CIDR range', 64), 'Addresses of the client.', 1000)),
      path: pattern('Path'),
      method: pattern('Method'),
      header: z.optional(
        z
          .record(text('Name of a header field, in lower case', 128), text('Pattern (RE2)', 1000))
          .check(z.describe('Patterns of header fields (RE2), by name.')),
      ),
      query: pattern('Query'),
      user_agent: pattern('User-Agent'),
      body: pattern('Body'),
    })
    .check(z.describe('Conditions, which must all hold.')),
  rate: z.optional(
    z
      .strictObject({
        count: integer('Requests.', 1, 1_000_000_000),
        window_secs: integer('Seconds in which they are counted.', 1, 86_400),
      })
      .check(z.describe('It holds for a client past this rate only.')),
  ),
})
