import { shown } from '../problems.ts'
import type { DirectiveCall } from '../rules/directive-call.ts'
import { svcSite, type WrittenName } from '../rules/serving.ts'
import type { Level } from './level.ts'

/** Id of the site of servers that answer any host: the default server of most nginx configurations. */
const CATCH_ALL = 'default'
const identifier = /^[a-z0-9][a-z0-9._-]{0,62}$/

/** The id of a server's site: `svc_site`, else its first name. */
export function siteIdOf(level: Level, names: readonly WrittenName[], call: DirectiveCall): string {
  const given = level.value(svcSite)
  if (given !== undefined) return given
  const [first] = names
  if (first === undefined || (first.spec.kind === 'name' && (first.spec.name === '' || first.spec.name === '_'))) return CATCH_ALL
  const isPlain = first.spec.kind === 'name' && !first.spec.name.includes('*')
  if (isPlain && identifier.test(first.text)) return first.text
  const written = first.call.arg(first.index)
  const what = first.spec.kind === 'pattern' ? 'a regular expression' : isPlain ? 'no id' : 'a wildcard'
  first.call.fail(
    `"svc_site" is needed: the first server name "${shown(written)}" is ${what}`,
    first.index,
    'write svc_site <id>; with an id of your choice',
  )
  return `${CATCH_ALL}-${call.place.line}`
}
