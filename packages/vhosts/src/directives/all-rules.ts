import { type DirectiveFacts, NGINX_DIRECTIVES } from '../nginx/directive-facts.ts'
import * as answers from './answers.ts'
import * as blocks from './blocks.ts'
import * as clientCertificates from './client-certificates.ts'
import * as compression from './compression.ts'
import { ifBlock } from './conditions.ts'
import * as cookies from './cookies.ts'
import * as engines from './engines.ts'
import * as fileAnswers from './file-answers.ts'
import * as gateways from './gateways.ts'
import * as guarding from './guarding.ts'
import { largeClientHeaderBuffers } from './header-buffers.ts'
import * as limiting from './limiting.ts'
import * as logging from './logging.ts'
import { NO_EFFECT } from './no-effect.ts'
import * as proxying from './proxying.ts'
import * as realIp from './real-ip.ts'
import * as resolving from './resolver.ts'
import * as rewriting from './rewriting.ts'
import { type Context, type Rule, rule } from './rule.ts'
import * as serving from './serving.ts'
import * as subFilter from './sub-filter.ts'
import { defaultType, typesBlock } from './types.ts'
import { families } from './upstream-family.ts'
import { tlsFamilies } from './upstream-tls.ts'
import * as upstreams from './upstreams.ts'

const { params, ...gatewayRules } = gateways

/** The contexts of nginx as they are called here; in a vhost file there is no `http {}`. */
const CONTEXTS: Readonly<Record<string, Context>> = {
  main: 'core',
  events: 'events',
  http: 'main',
  server: 'server',
  location: 'location',
  'if in server': 'if in server',
  'if in location': 'if in location',
  limit_except: 'limit_except',
  upstream: 'upstream',
}

/** Those that nginx takes several times at one level. */
const REPEATED = /^(?:debug_connection|env|error_log|load_module|ssl_session_ticket_key|\w+_cache_path)$/

function withoutEffect(name: string, reason: string, facts: DirectiveFacts): Rule<unknown> {
  return rule(name, {
    in: facts.contexts.flatMap((context) => CONTEXTS[context] ?? []),
    args: facts.args,
    form: facts.isBlock ? 'block' : 'simple',
    isMany: REPEATED.test(name),
    parse: (call) => {
      call.tools.problems.ignore(name, call.place, reason)
      return undefined
    },
  })
}

const INNER: readonly Context[] = ['if in server', 'if in location', 'limit_except']

/** Adds the contexts of `if` and `limit_except` that the directive has in nginx. */
function alsoInside(one: Rule<unknown>): Rule<unknown> {
  if (!one.contexts.includes('location')) return one
  const facts = NGINX_DIRECTIVES.get(one.name)?.find(({ contexts }) => contexts.includes('location'))
  const inside = INNER.filter((context) => facts?.contexts.some((known) => known === context))
  return inside.length === 0 ? one : { ...one, contexts: [...one.contexts, ...inside] }
}

const working: readonly Rule<unknown>[] = [
  ...Object.values(blocks),
  ...Object.values(serving),
  ...Object.values(clientCertificates),
  ...Object.values(engines),
  ...Object.values(rewriting),
  ifBlock,
  ...Object.values(answers),
  ...Object.values(realIp),
  ...Object.values(guarding),
  ...Object.values(limiting),
  ...Object.values(compression),
  ...Object.values(fileAnswers),
  largeClientHeaderBuffers,
  ...Object.values(subFilter),
  typesBlock,
  defaultType,
  ...Object.values(logging),
  ...Object.values(upstreams),
  ...Object.values(resolving),
  ...Object.values(proxying),
  ...Object.values(cookies),
  ...Object.values(gatewayRules),
  ...Object.values(params),
  ...Object.values(tlsFamilies).flatMap((family): Rule<unknown>[] => Object.values(family)),
  ...Object.values(families).flatMap((family): Rule<unknown>[] => Object.values(family)),
].map(alsoInside)

const ignored = [...NO_EFFECT].flatMap(([name, reason]) =>
  (NGINX_DIRECTIVES.get(name) ?? []).flatMap((facts) =>
    // Those of groups may work beside them.
    working.some((one) => one.name === name && facts.contexts.includes('upstream')) ? [] : [withoutEffect(name, reason, facts)],
  ),
)

/** All rules by name. `server` is two: a block, and an entry of a group. */
export const rulesByName: ReadonlyMap<string, readonly Rule<unknown>[]> = Map.groupBy(
  [...working, ...ignored],
  ({ name }) => name,
)

/** Names of the directives that work. */
export const workingNames: readonly string[] = [...new Set([...working.map(({ name }) => name), 'include'])]

/** Names of all directives that are read. */
export const directiveNames: readonly string[] = [...rulesByName.keys(), 'include']
