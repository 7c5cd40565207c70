import { CORE_DIRECTIVES } from './core-directives.ts'
import { FILTERS_DIRECTIVES } from './filters-directives.ts'
import { GATEWAYS_DIRECTIVES } from './gateways-directives.ts'
import { PROXY_DIRECTIVES } from './proxy-directives.ts'

/** The kind of block around a directive, in nginx's words. */
type NginxContext =
  | 'main'
  | 'events'
  | 'http'
  | 'server'
  | 'location'
  | 'if in server'
  | 'if in location'
  | 'limit_except'
  | 'upstream'

/** A directive of nginx as it is there. */
export interface DirectiveFacts {
  readonly name: string
  /** Its module, without `ngx_http_` and `_module`; `main`: the core outside of `http {}`. */
  readonly module: string
  readonly contexts: readonly NginxContext[]
  /** Fewest and most arguments. */
  readonly args: readonly [min: number, max: number]
  /** Its value where it is not written; "": none. */
  readonly default: string
  readonly isBlock: boolean
}

const CONTEXTS: Readonly<Record<string, NginxContext>> = {
  m: 'main',
  e: 'events',
  h: 'http',
  s: 'server',
  l: 'location',
  I: 'if in server',
  i: 'if in location',
  x: 'limit_except',
  u: 'upstream',
}

function argsOf(text: string): readonly [number, number] {
  const [min = '0', max = min] = text.split('-')
  return [Number(min), max === '' ? Number.POSITIVE_INFINITY : Number(max)]
}

/** Reads rows of `name contexts arguments default`, below the names of their modules. `{`: a block. */
function readRows(text: string): DirectiveFacts[] {
  let module = ''
  return text
    .trim()
    .split('\n')
    .flatMap((line) => {
      if (line.startsWith('[')) {
        module = line.slice(1, -1)
        return []
      }
      const [name = '', contexts = '', args = '', ...rest] = line.split(' ')
      return {
        name,
        module,
        contexts: [...contexts].flatMap((letter) => CONTEXTS[letter] ?? []),
        args: argsOf(args),
        default: rest.join(' '),
        isBlock: contexts.endsWith('{'),
      }
    })
}

/** The directives of nginx and of its standard modules for HTTP. Some are two: outside of `http {}` and in it, or for groups. */
export const NGINX_DIRECTIVES: ReadonlyMap<string, readonly DirectiveFacts[]> = Map.groupBy(
  [CORE_DIRECTIVES, PROXY_DIRECTIVES, GATEWAYS_DIRECTIVES, FILTERS_DIRECTIVES].flatMap(readRows),
  ({ name }) => name,
)
