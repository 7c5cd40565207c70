import type { Directive } from '../syntax/directive.ts'
import type { VariableTable } from '../variables/variable-table.ts'

/** Directives that set the variables that they name. */
const SETTERS: ReadonlySet<string> = new Set([
  'set',
  'map',
  'geo',
  'split_clients',
  'auth_request_set',
  'perl_set',
  'js_set',
  'js_var',
  'userid',
  'set_by_lua_block',
  'set_by_lua_file',
])

/**
 * Defines the variables that a refused directive, or one within it, would set: the refusal is one problem, and every use of
 * what it sets would be another one.
 */
export function defineWhatItSets(refused: Directive, variables: VariableTable): void {
  const open = [refused]
  for (let directive = open.pop(); directive !== undefined; directive = open.pop()) {
    for (const { text } of directive.args) {
      const name = SETTERS.has(directive.name.text) ? /^\$([A-Za-z0-9_]+)$/.exec(text)?.[1] : undefined
      if (name !== undefined) variables.define(name)
      for (const [, captured = ''] of text.matchAll(/\(\?P?[<']([A-Za-z_]\w*)[>']/g)) variables.define(captured)
    }
    for (const inner of directive.block ?? []) open.push(inner)
  }
}
