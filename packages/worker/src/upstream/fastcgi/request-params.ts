import type { OriginRequest } from '../origin.ts'
import type { Param } from './record.ts'

/** An application must not take a field of a client for the proxy of its own requests. */
const NOT_PASSED: ReadonlySet<string> = new Set(['proxy'])

/** Conditions and parts are those of who asks: a cache has its own, or none, in place of the client's. */
const OF_ASKER: ReadonlySet<string> = new Set([
  'HTTP_IF_MATCH',
  'HTTP_IF_MODIFIED_SINCE',
  'HTTP_IF_NONE_MATCH',
  'HTTP_IF_RANGE',
  'HTTP_IF_UNMODIFIED_SINCE',
  'HTTP_RANGE',
])

/**
 * All parameters of a request: those that it brings with it, and one of the form `HTTP_NAME` for each field. Where a parameter
 * of that name is configured, it stands for the field, whose value is the same unless a cache has set it. Fields that come several times are joined (RFC 3875 section 4.1.18).
 * Names of fields that hold something other than letters, digits and "-" are left out: another name could come to the same.
 */
export function requestParams({ method, headers, body, cgi }: OriginRequest): Param[] {
  const own = (cgi?.params ?? []).filter(([name]) => !OF_ASKER.has(name))
  const params = withLength(withMethod(own, method), body?.isPresent === true ? body.length : undefined)
  const names = new Set(own.map(([name]) => name))
  const fields = new Map<string, string>()
  for (const [name, value] of headers) {
    if (NOT_PASSED.has(name) || !/^[a-z\d-]+$/.test(name)) continue
    const param = `HTTP_${name.toUpperCase().replaceAll('-', '_')}`
    if (names.has(param)) continue
    const before = fields.get(param)
    fields.set(param, before === undefined ? value : `${before}${name === 'cookie' ? '; ' : ', '}${value}`)
  }
  return [...params, ...fields]
}

/** A cache asks with GET for what was asked for with HEAD. */
function withMethod(params: readonly Param[], method: string): readonly Param[] {
  if (method !== 'GET') return params
  return params.map((param) => (param[0] === 'REQUEST_METHOD' && param[1] === 'HEAD' ? ['REQUEST_METHOD', method] : param))
}

/** The length is that of the body which is sent, whatever the fields of the client's request say. */
function withLength(params: readonly Param[], length: number | undefined): readonly Param[] {
  const text = length === undefined ? '' : String(length)
  if (params.some(([name]) => name === 'CONTENT_LENGTH')) {
    return params.map((param) => (param[0] === 'CONTENT_LENGTH' ? ['CONTENT_LENGTH', text] : param))
  }
  return text === '' ? params : [...params, ['CONTENT_LENGTH', text]]
}
