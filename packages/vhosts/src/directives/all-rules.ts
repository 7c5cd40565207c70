import * as answers from './answers.ts'
import * as blocks from './blocks.ts'
import * as proxying from './proxying.ts'
import { IGNORED_DIRECTIVES } from './refused.ts'
import * as rewriting from './rewriting.ts'
import { type Rule, rule } from './rule.ts'
import * as serving from './serving.ts'
import * as upstreams from './upstreams.ts'

const { proxyFamily, fastcgiFamily, ...proxyRules } = proxying

const ignoredRules = Object.entries(IGNORED_DIRECTIVES).map(([name, { reason, ...definition }]) =>
  rule(name, {
    ...definition,
    parse: (call) => {
      call.notice(`"${name}" has no effect here: ${reason}`, name)
      return undefined
    },
  }),
)

const all: readonly Rule<unknown>[] = [
  ...Object.values(blocks),
  ...Object.values(serving),
  ...Object.values(rewriting),
  ...Object.values(answers),
  ...Object.values(upstreams),
  ...Object.values(proxyRules),
  ...Object.values(proxyFamily),
  ...Object.values(fastcgiFamily),
  ...ignoredRules,
]

/** All rules by name. `server` is two: a block, and an entry of a group. */
export const rulesByName: ReadonlyMap<string, readonly Rule<unknown>[]> = Map.groupBy(all, ({ name }) => name)

/** Names of all directives. */
export const directiveNames: readonly string[] = [...rulesByName.keys(), 'include']
