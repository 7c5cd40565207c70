import type { TypeTable } from '../spec/spec.ts'
import { DirectiveCall } from './directive-call.ts'
import { EVERYWHERE, rule } from './rule.ts'

/** The table of nginx, where a whole nginx.conf has none. */
const BUILT_IN: TypeTable = [
  ['html', 'text/html'],
  ['gif', 'image/gif'],
  ['jpg', 'image/jpeg'],
]

/** The type of a whole nginx.conf for other files, where it names none. */
export const BUILT_IN_DEFAULT_TYPE = 'text/plain'

function readTable(call: DirectiveCall): TypeTable {
  return (call.directive.block ?? []).flatMap((line) => {
    const { name, args } = new DirectiveCall(line, call.tools)
    if (line.block !== undefined) new DirectiveCall(line, call.tools).fail('unexpected "{"')
    return args.map((extension) => [extension.toLowerCase(), name] as const)
  })
}

/** `types`: number of its table. */
export const typesBlock = rule<number>('types', {
  in: EVERYWHERE,
  args: 0,
  form: 'block',
  isMany: true,
  parse: (call) => call.tools.typeTables.push(readTable(call)) - 1,
})

/** Adds the table of nginx. @returns its number */
export function addBuiltInTypes(tables: TypeTable[]): number {
  return tables.push(BUILT_IN) - 1
}

/** `default_type`. As in nginx, a text without variables. */
export const defaultType = rule('default_type', { args: 1, parse: (call) => call.arg(0) })
