import type { DirectiveCall } from './directive-call.ts'

/** The kind of block around a directive. `main`: none, or `http {}` of a whole nginx.conf; `core`: none, in a whole nginx.conf. */
export type Context =
  | 'core'
  | 'events'
  | 'main'
  | 'server'
  | 'location'
  | 'if in server'
  | 'if in location'
  | 'limit_except'
  | 'upstream'
  | 'map'

/** Definition of a directive. `Value` is the result of its parser. */
export interface Rule<Value> {
  readonly name: string
  readonly contexts: readonly Context[]
  /** Fewest and most arguments. */
  readonly args: readonly [min: number, max: number]
  /** The setting. Directives of one slot share a list in the order of the file; with `isMany` false they exclude each other. */
  readonly slot: string
  /** True if it may be given several times at one level. */
  readonly isMany: boolean
  /** `block`: braces follow. */
  readonly form: 'simple' | 'block'
  /** Reads the arguments. undefined: they are wrong, which was reported. */
  readonly parse: (call: DirectiveCall) => Value | undefined
}

/** Outside of blocks, in servers and in locations: a level inherits those that it lacks. */
export const EVERYWHERE: readonly Context[] = ['main', 'server', 'location']

interface RuleDefinition<Value> {
  readonly in?: readonly Context[]
  readonly args: number | readonly [min: number, max: number]
  readonly slot?: string
  readonly isMany?: boolean
  readonly form?: 'simple' | 'block'
  readonly parse: (call: DirectiveCall) => Value | undefined
}

/** Any number of arguments. */
export const MANY = Number.POSITIVE_INFINITY

/** Defines a directive: by default one that stands everywhere, once at a level. */
export function rule<Value>(name: string, definition: RuleDefinition<Value>): Rule<Value> {
  const { args } = definition
  return {
    name,
    contexts: definition.in ?? EVERYWHERE,
    args: typeof args === 'number' ? [args, args] : args,
    slot: definition.slot ?? name,
    isMany: definition.isMany ?? false,
    form: definition.form ?? 'simple',
    parse: definition.parse,
  }
}
