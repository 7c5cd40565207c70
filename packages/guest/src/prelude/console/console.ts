import { currentContext } from '../../context/context.ts'
import { OwnWeakMap } from '../../context/primordials.ts'
import { type LogLevel, siteLog } from '../../host/site-log.ts'
import { performanceNow } from '../time/performance.ts'
import { format, inspect } from './inspect.ts'

type Log = (...values: unknown[]) => void

const counts = new Map<string, number>()
const timers = new Map<string, number>()
/** Indentation by request: a group that its code leaves open ends with it. */
const indents = new OwnWeakMap<object, string>()
const outside = {}
const owner = () => currentContext()?.request ?? outside

function write(level: LogLevel, text: string): void {
  const indent = indents.get(owner()) ?? ''
  siteLog(level, indent === '' ? text : text.replace(/^/gm, indent))
}

const logAt =
  (level: LogLevel): Log =>
  (...values) =>
    write(level, format(...values))

const label = (value: unknown) => (value === undefined ? 'default' : String(value))

function elapsed(name: string): string {
  const startedAt = timers.get(name)
  return startedAt === undefined ? `Timer '${name}' does not exist` : `${name}: ${performanceNow() - startedAt}ms`
}

function table(rows: unknown): void {
  if (typeof rows !== 'object' || rows === null) {
    write('info', format(rows))
    return
  }
  const columns = new Set<string>()
  const lines = Object.entries(rows).map(([index, row]) => {
    const cells: Record<string, unknown> = typeof row === 'object' && row !== null ? { ...row } : { Values: row }
    for (const name of Object.keys(cells)) columns.add(name)
    return { index, cells }
  })
  const head = ['(index)', ...columns]
  const body = lines.map(({ index, cells }) => [
    index,
    ...[...columns].map((name) => (name in cells ? inspect(cells[name], { depth: 0 }) : '')),
  ])
  const widths = head.map((name, at) => Math.max(name.length, ...body.map((cells) => cells[at]?.length ?? 0)))
  const toLine = (cells: readonly string[]) => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')
  write('info', [toLine(head), widths.map((width) => '-'.repeat(width)).join('-|-'), ...body.map(toLine)].join('\n'))
}

function trace(...values: unknown[]): void {
  const stack = new Error().stack?.split('\n').slice(2).join('\n') ?? ''
  write('debug', `Trace: ${format(...values)}\n${stack}`)
}

/** The global `console`: everything goes to the site's log, under the request that the running code works for. */
export const console = {
  log: logAt('info'),
  info: logAt('info'),
  debug: logAt('debug'),
  warn: logAt('warn'),
  error: logAt('error'),
  trace,
  table,
  dir: (value: unknown, options?: { depth?: number }) => write('info', inspect(value, options)),
  dirxml: logAt('info'),
  assert(condition: unknown, ...values: unknown[]) {
    if (condition) return
    const [first, ...rest] = values
    if (values.length === 0) write('error', 'Assertion failed')
    else if (typeof first === 'string') write('error', format(`Assertion failed: ${first}`, ...rest))
    else write('error', format('Assertion failed:', ...values))
  },
  count(name?: unknown) {
    const key = label(name)
    counts.set(key, (counts.get(key) ?? 0) + 1)
    write('info', `${key}: ${counts.get(key)}`)
  },
  countReset: (name?: unknown) => void counts.delete(label(name)),
  group(...values: unknown[]) {
    if (values.length > 0) write('info', format(...values))
    indents.set(owner(), `${indents.get(owner()) ?? ''}  `)
  },
  groupCollapsed(...values: unknown[]) {
    console.group(...values)
  },
  groupEnd() {
    indents.set(owner(), (indents.get(owner()) ?? '').slice(2))
  },
  time: (name?: unknown) => void timers.set(label(name), performanceNow()),
  timeLog: (name?: unknown, ...values: unknown[]) =>
    write('info', [elapsed(label(name)), format(...values)].filter(Boolean).join(' ')),
  timeEnd(name?: unknown) {
    write('info', elapsed(label(name)))
    timers.delete(label(name))
  },
  timeStamp: () => undefined,
  clear: () => undefined,
  profile: () => undefined,
  profileEnd: () => undefined,
}
