import { messageOf } from '@svc/core'
import { SiteError } from '../errors/errors.ts'
import type { MiddlewareFile } from '../manifest/manifest.ts'
import { compilePathPattern, compileWholeRegex } from './path-pattern.ts'

/** The parts of a request that `has` and `missing` of a matcher can test. */
export interface MatcherRequest {
  /** Host name without port, lower case. */
  readonly host: string
  /** Value of a header field by lower-case name. */
  header(name: string): string | undefined
  cookie(name: string): string | undefined
  /** Last value of a query parameter, decoded. */
  query(name: string): string | undefined
}

/** True if the middleware runs for a request. `path` is `HttpRequest.path`. */
export type MiddlewareMatcher = (path: string, request: MatcherRequest) => boolean

type Condition = (request: MatcherRequest) => boolean

/** Matchers of one site; more cost every request of the worker too much. */
const MAX_MATCHERS = 64

const always: MiddlewareMatcher = () => true

/**
 * Compiles `config.matcher` of a middleware: nothing (every path), a pattern, or a list of patterns and of objects with
 * `source`, `has` and `missing`.
 * @throws SITE_BAD_MATCHER naming the file and the entry
 */
export function compileMiddlewareMatcher(middleware: MiddlewareFile): MiddlewareMatcher {
  const { matcher, file } = middleware
  if (matcher === null || matcher === undefined) return always
  const entries = Array.isArray(matcher) ? matcher : [matcher]
  if (entries.length > MAX_MATCHERS) throw fault(file, 'config.matcher', `has more than ${MAX_MATCHERS} entries`)
  const compiled = entries.map((entry, index) =>
    compileEntry(entry, file, Array.isArray(matcher) ? `config.matcher[${index}]` : 'config.matcher'),
  )
  return (path, request) => {
    const decoded = path.includes('%') ? decodePath(path) : path
    return compiled.some((entry) => entry(path, request) || (decoded !== path && entry(decoded, request)))
  }
}

function fault(file: string, where: string, what: string, cause?: unknown): SiteError {
  return new SiteError('SITE_BAD_MATCHER', `${file}: ${where} ${what}`, { cause, data: { file } })
}

/** A guard of a path must not be passed by by spelling a letter as an escape, so both forms are tried. */
function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    // URIError, the only one it throws: not UTF-8, and no route matches such a path either.
    return path
  }
}

function attempt<T>(file: string, where: string, compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    throw fault(file, where, `cannot be used: ${messageOf(error)}`, error)
  }
}

function compileEntry(entry: unknown, file: string, where: string): MiddlewareMatcher {
  if (typeof entry === 'string') return compileSource(entry, file, where)
  if (typeof entry !== 'object' || entry === null) throw fault(file, where, 'must be a string or an object')
  const { source, has, missing, locale: _locale, regexp: _regexp, ...unknown } = entry as Record<string, unknown>
  const [extra] = Object.keys(unknown)
  if (extra !== undefined) throw fault(file, where, `has an unknown key "${extra}"`)
  const matches = compileSource(source, file, `${where}.source`)
  const wanted = compileConditions(has, file, `${where}.has`)
  const unwanted = compileConditions(missing, file, `${where}.missing`)
  return (path, request) =>
    matches(path, request) && wanted.every((condition) => condition(request)) && !unwanted.some((condition) => condition(request))
}

function compileSource(source: unknown, file: string, where: string): MiddlewareMatcher {
  if (typeof source !== 'string') throw fault(file, where, 'must be a string')
  if (!source.startsWith('/')) throw fault(file, where, `must begin with "/" ("${source}")`)
  return attempt(file, where, () => compilePathPattern(source))
}

function compileConditions(list: unknown, file: string, where: string): Condition[] {
  if (list === undefined) return []
  if (!Array.isArray(list)) throw fault(file, where, 'must be a list')
  return list.map((item: unknown, index) => compileCondition(item, file, `${where}[${index}]`))
}

function compileCondition(item: unknown, file: string, where: string): Condition {
  if (typeof item !== 'object' || item === null) throw fault(file, where, 'must be an object')
  const { type, key, value } = item as Record<string, unknown>
  if (value !== undefined && typeof value !== 'string') throw fault(file, `${where}.value`, 'must be a string')
  const read = readerOf(type, key, file, where)
  if (type === 'host' && value === undefined) throw fault(file, where, 'needs a value')
  if (value === undefined) return (request) => (read(request) ?? '') !== ''
  const matches = attempt(file, `${where}.value`, () => compileWholeRegex(value))
  return (request) => {
    const text = read(request)
    return text !== undefined && matches(text)
  }
}

function readerOf(type: unknown, key: unknown, file: string, where: string): (request: MatcherRequest) => string | undefined {
  if (type === 'host') return (request) => request.host
  if (typeof key !== 'string' || key === '') throw fault(file, `${where}.key`, 'must be a string')
  switch (type) {
    case 'header': {
      const name = key.toLowerCase()
      return (request) => request.header(name)
    }
    case 'cookie':
      return (request) => request.cookie(key)
    case 'query':
      return (request) => request.query(key)
    default:
      throw fault(file, `${where}.type`, 'must be "header", "cookie", "query" or "host"')
  }
}
