import type { LogFormatSpec, Template } from '../spec/spec.ts'
import { shown } from '../syntax/vhost-problems.ts'
import { parseSize, parseTime } from '../values/numbers.ts'
import { readTemplate, variablesOf } from '../values/template.ts'
import type { DirectiveCall } from './directive-call.ts'
import { EVERYWHERE, MANY, rule } from './rule.ts'

/** A `log_format`. */
interface WrittenLogFormat extends LogFormatSpec {
  readonly name: string
}

/** Fields that have secrets in them. */
const CREDENTIALS = ['http_authorization', 'http_cookie', 'http_proxy_authorization']
const ESCAPES = ['default', 'json', 'none'] as const

function formatText(call: DirectiveCall, from: number): Template | undefined {
  const pieces: Template[number][] = []
  for (let index = from; index < call.args.length; index++) {
    const read = readTemplate(call.arg(index))
    if ('error' in read) return call.fail(`${read.error} in "${shown(call.arg(index))}"`, index)
    const capture = read.template.find((piece) => typeof piece !== 'string' && /^[1-9]$/.test(piece.variable))
    if (typeof capture === 'object') return call.fail(`unknown "${capture.variable}" variable`, index, 'name the capture')
    for (const name of variablesOf(read.template)) {
      if (CREDENTIALS.includes(name)) return call.fail(`"$${name}" is not written to logs`, index, 'it has credentials in it')
      call.tools.variables.use(name, call.argPlace(index), 'log')
    }
    pieces.push(...read.template)
  }
  return pieces
}

function parseFormat(call: DirectiveCall): WrittenLogFormat | undefined {
  const [name = '', first = ''] = call.args
  const written = /^escape=(.*)$/s.exec(first)?.[1]
  const escaping = written === undefined ? 'default' : ESCAPES.find((known) => known === written)
  if (escaping === undefined) return call.fail(`unknown log format escaping "${shown(written ?? '')}"`, 1)
  if (name === 'combined') return call.fail('duplicate "log_format" name "combined"', 0, 'it is there already')
  const text = formatText(call, written === undefined ? 1 : 2)
  return text === undefined ? undefined : { name, escape: escaping, text }
}

/** `log_format`. */
export const logFormat = rule<WrittenLogFormat>('log_format', { in: ['main'], args: [2, MANY], isMany: true, parse: parseFormat })

/** One `access_log`. */
interface WrittenAccessLog {
  readonly call: DirectiveCall
  /** Absolute; "": the log of this server. */
  readonly path: Template
  /** Name of its format. */
  readonly format: string
  readonly condition: Template | undefined
}

/** Where `access_log` sends lines: nowhere, or to a log. */
export type AccessLogTarget = 'off' | WrittenAccessLog

const STREAMS: Readonly<Record<string, 'output' | 'error'>> = {
  '/dev/stdout': 'output',
  '/dev/fd/1': 'output',
  '/proc/self/fd/1': 'output',
  '/dev/stderr': 'error',
  '/dev/fd/2': 'error',
  '/proc/self/fd/2': 'error',
}

/** The only variables in paths: the others are chosen by clients, each value with a file of its own. */
const IN_PATHS = ['server_name', 'hostname']

function pathOf(call: DirectiveCall): Template | undefined {
  const written = call.arg(0)
  const stream = Object.hasOwn(STREAMS, written) ? STREAMS[written] : undefined
  if (stream === 'error') call.notice('access lines go to standard output', 'access_log stderr')
  if (stream !== undefined) return []
  if (written.startsWith('syslog:')) {
    call.notice('"syslog:" of "access_log" is not available here: these lines go to standard output', 'access_log syslog')
    return []
  }
  const path = call.pathTemplate(0)
  if (path === undefined) return undefined
  const other = variablesOf(path).find((name) => !IN_PATHS.includes(name)) ?? (/\$[1-9]/.test(written) ? '1' : undefined)
  if (other !== undefined) {
    const hint = 'only $server_name and $hostname may be in it; name the file in each server block'
    return call.fail(`"$${other}" is not available in the path of "access_log"`, 0, hint)
  }
  return /\p{Cc}/u.test(call.text(0)) ? call.invalidValue(0, 'expected a path without control characters') : path
}

/** Reads the parameters behind the format. Undefined: one of them is wrong. */
function parametersOf(call: DirectiveCall): { condition: Template | undefined } | undefined {
  let condition: Template | undefined
  for (const [index, text] of call.args.entries()) {
    if (index < 2) continue
    const [name = '', value = ''] = text.split(/=(.*)/s, 2)
    if (name === 'gzip')
      return call.fail('"gzip" of "access_log" is not available here', index, 'compress rotated files, as logrotate does')
    if (name === 'if' && value !== '') {
      condition = call.template(index, value)
      if (condition === undefined) return undefined
    } else if (!(name === 'buffer' && parseSize(value)) && !(name === 'flush' && parseTime(value)))
      return call.invalidParameter(index, 'expected buffer=, flush= or if=')
  }
  return { condition }
}

/** `access_log`. */
export const accessLog = rule<AccessLogTarget>('access_log', {
  in: EVERYWHERE,
  args: [1, 9],
  isMany: true,
  parse: (call) => {
    if (call.arg(0) === 'off') return call.args.length === 1 ? 'off' : call.invalidParameter(1)
    const path = pathOf(call)
    const parameters = parametersOf(call)
    if (path === undefined || parameters === undefined) return undefined
    return { call, path, format: call.args[1] ?? 'combined', condition: parameters.condition }
  },
})
