import { type DirectiveFacts, NGINX_DIRECTIVES } from '../nginx/directive-facts.ts'
import { rulesByName, workingNames } from './all-rules.ts'
import { NO_EFFECT } from './no-effect.ts'
import { harmlessValues } from './refusal.ts'
import { refusedHint } from './refused.ts'

/** `works`: means what it means to nginx. `no effect`: responses stay the same without it. `refused`: an error. */
type DirectiveClass = 'works' | 'no effect' | 'refused'

/** A directive as the table of all directives has it. */
export interface DirectiveEntry {
  readonly name: string
  readonly class: DirectiveClass
  /** Its module in nginx; `svc`: it is not in nginx. */
  readonly module: string
  readonly contexts: readonly string[]
  /** Fewest and most arguments; null: any number. */
  readonly args: readonly [min: number, max: number | null]
  /** Its value where it is not written; "": none. */
  readonly default: string
  /** The reason why it has no effect, or the advice of its error; "" for one that works. */
  readonly note: string
  /** Values with which a refused directive is accepted. */
  readonly accepted: readonly string[]
}

const working = new Set(workingNames)

/** Directives of groups whose namesakes of servers have no effect. */
const ofGroups: ReadonlySet<string> = new Set(workingNames.filter((name) => NO_EFFECT.has(name)))

function classOf(name: string, contexts: DirectiveFacts['contexts']): DirectiveClass {
  if (working.has(name) && (!ofGroups.has(name) || contexts.includes('upstream'))) return 'works'
  return NO_EFFECT.has(name) ? 'no effect' : 'refused'
}

function entryOf({ name, module, contexts, args: [min, max], default: usual }: DirectiveFacts): DirectiveEntry {
  const kind = classOf(name, contexts)
  const note = kind === 'works' ? '' : (NO_EFFECT.get(name) ?? refusedHint(name) ?? '')
  const accepted = kind === 'refused' ? harmlessValues(name) : []
  const args = [min, Number.isFinite(max) ? max : null] as const
  return { name, class: kind, module, contexts, args, default: usual, note, accepted }
}

/** Directives that nginx does not have. */
function ownDirectives(): DirectiveFacts[] {
  return workingNames
    .filter((name) => name.startsWith('svc_'))
    .flatMap((name) => rulesByName.get(name) ?? [])
    .map(({ name, args, contexts, form }) => ({
      name,
      module: 'svc',
      contexts: contexts.flatMap((context) => {
        if (context === 'main') return ['http' as const]
        return context === 'server' || context === 'location' ? [context] : []
      }),
      args,
      default: '',
      isBlock: form === 'block',
    }))
}

/** All directives of nginx, of its standard modules for HTTP, and of this server, by name. */
export function directiveTable(): readonly DirectiveEntry[] {
  const facts = [...NGINX_DIRECTIVES.values(), ownDirectives()].flat()
  return facts.map(entryOf).toSorted((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0))
}
