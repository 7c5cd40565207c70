import { shown } from '../syntax/vhost-problems.ts'
import type { DirectiveCall } from './directive-call.ts'

/** Built-in variables that a request may set. */
const SETTABLE: ReadonlySet<string> = new Set(['args', 'limit_rate'])

/** The variable that a directive sets, its first argument. */
export function settableVariable(call: DirectiveCall): string | undefined {
  const name = /^\$([A-Za-z_][A-Za-z0-9_]*)$/.exec(call.arg(0))?.[1]
  if (name === undefined) return call.fail(`invalid variable name "${shown(call.arg(0))}"`, 0)
  if (call.tools.variables.isBuiltIn(name) && !SETTABLE.has(name))
    return call.fail(`the duplicate "${name}" variable`, 0, 'it is a built-in variable')
  call.tools.variables.define(name)
  return name
}
