import type { ConditionSpec, FileTest } from '../spec/spec.ts'
import { shown } from '../syntax/vhost-problems.ts'
import type { DirectiveCall } from './directive-call.ts'
import { MANY, rule } from './rule.ts'

/** An `if` as it is written. */
export interface WrittenIf {
  readonly kind: 'if'
  readonly call: DirectiveCall
  readonly condition: ConditionSpec
}

/** A word of a condition, and the argument that it is part of. */
interface ConditionWord {
  readonly text: string
  readonly index: number
}

const FILE_TESTS: Readonly<Record<string, FileTest>> = { '-f': 'file', '-d': 'directory', '-e': 'any', '-x': 'executable' }

/** The words between the parentheses, which may be words of their own. Undefined: one is missing. */
function wordsOf({ args }: DirectiveCall): ConditionWord[] | undefined {
  const words = args.map((text, index) => ({ text, index }))
  const [first] = words
  const last = words.at(-1)
  if (first?.text.startsWith('(') !== true || last?.text.endsWith(')') !== true) return undefined
  if (words.length === 1) return [{ text: first.text.slice(1, -1), index: 0 }]
  const inner = words.slice(1, -1)
  const opening = first.text === '(' ? [] : [{ ...first, text: first.text.slice(1) }]
  const closing = last.text === ')' ? [] : [{ ...last, text: last.text.slice(0, -1) }]
  return [...opening, ...inner, ...closing]
}

function variableOf(call: DirectiveCall, { text, index }: ConditionWord): readonly [{ readonly variable: string }] | undefined {
  const name = text.slice(1)
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return call.fail(`unknown "${shown(name)}" variable`, index)
  call.tools.variables.use(name, call.argPlace(index))
  return [{ variable: name }]
}

function comparison(call: DirectiveCall, words: readonly ConditionWord[]): ConditionSpec | undefined {
  const [name, operator, other] = words
  if (name === undefined || (words.length !== 1 && words.length !== 3)) return invalid(call, name)
  const value = variableOf(call, name)
  if (value === undefined) return undefined
  if (operator === undefined || other === undefined) return { kind: 'filled', value, isNegated: false }
  const isNegated = operator.text.startsWith('!')
  const plain = isNegated ? operator.text.slice(1) : operator.text
  if (plain === '=') {
    const text = call.template(other.index, other.text)
    return text === undefined ? undefined : { kind: 'equal', value, text, isNegated }
  }
  if (plain === '~' || plain === '~*') {
    const found = call.pattern(other.index, plain === '~*', other.text)
    return found === undefined ? undefined : { kind: 'match', value, pattern: found.pattern, isNegated }
  }
  return call.fail(`unexpected "${shown(operator.text)}" in condition`, operator.index)
}

function fileTest(call: DirectiveCall, words: readonly ConditionWord[]): ConditionSpec | undefined {
  const [operator, path] = words
  if (operator === undefined || path === undefined || words.length !== 2) return invalid(call, operator)
  const isNegated = operator.text.startsWith('!')
  const name = isNegated ? operator.text.slice(1) : operator.text
  const test = Object.hasOwn(FILE_TESTS, name) ? FILE_TESTS[name] : undefined
  if (test === undefined) return invalid(call, operator)
  const template = call.template(path.index, path.text)
  return template === undefined ? undefined : { kind: 'file', test, path: template, isNegated }
}

function invalid(call: DirectiveCall, word: ConditionWord | undefined): undefined {
  return call.fail(`invalid condition "${shown(word?.text ?? '')}"`, word?.index ?? 0)
}

function conditionOf(call: DirectiveCall): ConditionSpec | undefined {
  const words = wordsOf(call)
  if (words === undefined) return call.fail(`invalid condition "${shown(call.arg(0))}"`, 0, 'it must be in parentheses')
  const [first] = words
  if (first !== undefined && first.text.length > 1 && first.text.startsWith('$')) return comparison(call, words)
  return fileTest(call, words)
}

/** `if (condition) {}`. */
export const ifBlock = rule<WrittenIf>('if', {
  in: ['server', 'location'],
  args: [1, MANY],
  form: 'block',
  slot: 'rewrites',
  isMany: true,
  parse: (call) => {
    const condition = conditionOf(call)
    return condition === undefined ? undefined : { kind: 'if', call, condition }
  },
})
