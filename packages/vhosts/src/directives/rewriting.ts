import type { ErrorPageSpec, RewriteStep, Template, TryFilesSpec } from '../spec/spec.ts'
import { shown } from '../syntax/vhost-problems.ts'
import { leadingText, trailingText, withoutTrailing } from '../values/template.ts'
import type { WrittenIf } from './conditions.ts'
import type { DirectiveCall } from './directive-call.ts'
import { EVERYWHERE, MANY, rule } from './rule.ts'
import { settableVariable } from './settable-variable.ts'

const MOVED_TEMPORARILY = 302
const MAX_STATUS = 999
const FLAGS = ['last', 'break', 'redirect', 'permanent'] as const

function isAbsolute(template: Template): boolean {
  const [first] = template
  return typeof first === 'string' ? /^https?:\/\//.test(first) : first?.variable === 'scheme'
}

function parseRewrite(call: DirectiveCall): RewriteStep | undefined {
  const found = call.pattern(0, false)
  const written = call.template(1)
  const flagText = call.args[2]
  const flag = FLAGS.find((known) => known === flagText)
  if (flagText !== undefined && flag === undefined) call.invalidParameter(2, `expected ${FLAGS.join(', ')}`)
  if (found === undefined || written === undefined || (flagText !== undefined && flag === undefined)) return undefined
  const keepsArgs = !trailingText(written).endsWith('?')
  const replacement = keepsArgs ? written : withoutTrailing(written, 1)
  const isRedirect = isAbsolute(written)
  const then = isRedirect && flag !== 'permanent' ? 'redirect' : (flag ?? 'next')
  return { kind: 'rewrite', pattern: found.pattern, replacement, then, keepsArgs }
}

function parseReturn(call: DirectiveCall): RewriteStep | undefined {
  const [first = '', second] = call.args
  if (second === undefined && !/^\d+$/.test(first)) {
    const url = call.template(0)
    if (url === undefined) return undefined
    if (isAbsolute(url)) return { kind: 'return', status: MOVED_TEMPORARILY, text: url }
    return call.fail(`invalid return code "${shown(first)}"`, 0)
  }
  const status = /^\d{1,3}$/.test(first) ? Number(first) : MAX_STATUS + 1
  const text = second === undefined ? undefined : call.template(1)
  if (status > MAX_STATUS) return call.fail(`invalid return code "${shown(first)}"`, 0)
  if (second !== undefined && text === undefined) return undefined
  return { kind: 'return', status, text }
}

const steps = { in: ['server', 'location'], slot: 'rewrites', isMany: true } as const

/** `rewrite`. */
export const rewrite = rule<RewriteStep | WrittenIf>('rewrite', { ...steps, args: [2, 3], parse: parseRewrite })

/** `return`. */
export const returns = rule('return', { ...steps, args: [1, 2], parse: parseReturn })

/** `set`. */
export const set = rule<RewriteStep>('set', {
  ...steps,
  args: 2,
  parse: (call) => {
    const variable = settableVariable(call)
    const value = call.template(1)
    return variable === undefined || value === undefined ? undefined : { kind: 'set', variable, value }
  },
})

/** `break`. */
export const breaks = rule<RewriteStep>('break', { ...steps, args: 0, parse: () => ({ kind: 'break' }) })

/** True for a named location whose name has no variable: others are found by each request. */
function isNamed(text: string): boolean {
  return text.startsWith('@') && !text.includes('$')
}

function parseLast(call: DirectiveCall, index: number): TryFilesSpec['last'] | undefined {
  const text = call.arg(index)
  if (text.startsWith('=')) {
    const status = /^=\d{1,3}$/.test(text) ? Number(text.slice(1)) : undefined
    return status === undefined ? call.fail(`invalid code "${shown(text)}"`, index) : { kind: 'status', status }
  }
  if (isNamed(text)) return { kind: 'named', name: text.slice(1) }
  const uri = call.template(index)
  return uri === undefined ? undefined : { kind: 'uri', uri }
}

/** `try_files`. */
export const tryFiles = rule<TryFilesSpec>('try_files', {
  in: ['server', 'location'],
  args: [2, MANY],
  parse: (call) => {
    const lastIndex = call.args.length - 1
    const candidates = call.every((index, text) => {
      const isDirectory = text.endsWith('/')
      const path = call.template(index, isDirectory && text !== '/' ? text.slice(0, -1) : text)
      return path === undefined ? undefined : { path, isDirectory }
    }, lastIndex)
    const last = parseLast(call, lastIndex)
    return last === undefined || candidates === undefined ? undefined : { candidates, last }
  },
})

const [LOWEST_ERROR, HIGHEST_ERROR, CLIENT_CLOSED] = [300, 599, 499]

function parseStatus(call: DirectiveCall, index: number): number | undefined {
  const text = call.arg(index)
  const status = /^\d+$/.test(text) ? Number(text) : CLIENT_CLOSED
  if (status === CLIENT_CLOSED) return call.invalidValue(index)
  if (status >= LOWEST_ERROR && status <= HIGHEST_ERROR) return status
  return call.fail(`value "${shown(text)}" must be between ${LOWEST_ERROR} and ${HIGHEST_ERROR}`, index)
}

function pageTarget(call: DirectiveCall, index: number): ErrorPageSpec['target'] | undefined {
  const text = call.arg(index)
  if (isNamed(text)) return { kind: 'named', name: text.slice(1) }
  const template = call.template(index)
  if (template === undefined) return undefined
  return isAbsolute(template) || !/^(?:[/@]|$)/.test(leadingText(template))
    ? { kind: 'redirect', url: template }
    : { kind: 'uri', uri: template }
}

/** Code of nginx for heads that are too long: the engine answers. */
const LONG_HEAD = 494

/** `error_page`. */
export const errorPage = rule<ErrorPageSpec>('error_page', {
  in: EVERYWHERE,
  args: [2, MANY],
  isMany: true,
  parse: (call) => {
    const targetIndex = call.args.length - 1
    const answerText = call.arg(targetIndex - 1)
    const hasAnswer = answerText.startsWith('=')
    const count = hasAnswer ? targetIndex - 1 : targetIndex
    if (count === 0) return call.fail(`invalid number of arguments in "${call.name}" directive`)
    const answer = answerText === '=' ? 'own' : /^=\d{3}$/.test(answerText) ? Number(answerText.slice(1)) : undefined
    if (hasAnswer && answer === undefined) call.invalidValue(targetIndex - 1)
    const statuses = call.every((index) => parseStatus(call, index), count)
    const target = pageTarget(call, targetIndex)
    if (statuses === undefined || target === undefined || (hasAnswer && answer === undefined)) return undefined
    if (statuses.includes(LONG_HEAD))
      call.notice('"error_page" has no effect for 494: such requests get a short page with 431', 'error_page 494')
    return { statuses, answer, target }
  },
})
