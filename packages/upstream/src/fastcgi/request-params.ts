import type { HeaderList } from '@svc/http'
import type { CgiContext, OriginRequest } from '../origin/origin.ts'
import { encodeParams, type Param, RECORD, recordHead, requestBeginning } from './record.ts'

/** An application must not take a field of a client for the proxy of its own requests. */
const NOT_PASSED: ReadonlySet<string> = new Set(['proxy'])
/** An empty record of STDIN. */
export const END_OF_BODY = recordHead(RECORD.stdin, 0)
/** Conditions and ranges are the sender's: a cache has its own, or none, in place of the client's. */
const OF_ASKER: ReadonlySet<string> = new Set([
  'HTTP_IF_MATCH',
  'HTTP_IF_MODIFIED_SINCE',
  'HTTP_IF_NONE_MATCH',
  'HTTP_IF_RANGE',
  'HTTP_IF_UNMODIFIED_SINCE',
  'HTTP_RANGE',
])
const noParams: CgiContext = { params: [], configured: new Set(), onErrorLine: () => undefined }

/** Fields as parameters, written. */
interface WrittenFields {
  readonly headers: HeaderList
  readonly configured: ReadonlySet<string>
  readonly text: string
}

/** The bytes of a request before its body, and their inputs. */
interface Written {
  readonly own: readonly Param[]
  readonly fields: WrittenFields
  readonly method: string
  readonly length: number | undefined
  readonly keepsConnection: boolean
  readonly text: string
}

/**
 * Writes the requests to one upstream, without their bodies. A request that says the same as the one before, by lists that are the
 * same, is not written again.
 */
export class RequestTexts {
  #fields: WrittenFields | undefined
  #last: Written | undefined

  /** BEGIN_REQUEST and all of PARAMS, and where there is no body its end; one character for each byte. */
  of(request: OriginRequest, keepsConnection: boolean): string {
    const { method, headers, body, cgi = noParams } = request
    const { params: own, configured } = cgi
    const length = body?.isPresent === true ? body.length : undefined
    const fields = this.#fieldsOf(headers, configured)
    const last = this.#last
    const isSame = last?.own === own && last.fields === fields && last.method === method && last.length === length
    if (isSame && last.keepsConnection === keepsConnection) return last.text
    const params = encodeParams(ownParams(request)) + fields.text
    const end = body?.isPresent === true ? '' : END_OF_BODY
    const text = requestBeginning(params, keepsConnection) + end
    this.#last = { own, fields, method, length, keepsConnection, text }
    return text
  }

  #fieldsOf(headers: HeaderList, configured: ReadonlySet<string>): WrittenFields {
    const known = this.#fields
    if (known?.headers === headers && known.configured === configured) return known
    const fields = { headers, configured, text: encodeParams(fieldParams(headers, configured)) }
    if (Object.isFrozen(headers)) this.#fields = fields
    return fields
  }
}

/** The parameters of a request itself. Its method and its length are those that are sent. */
function ownParams(request: OriginRequest): readonly Param[] {
  const { method, cgi = noParams } = request
  const params = cgi.params.filter(([name]) => !OF_ASKER.has(name))
  return withLength(withMethod(params, method), request.body?.isPresent === true ? request.body.length : undefined)
}

/**
 * A parameter of the form `HTTP_NAME` for each field. Where a parameter of that name is configured, it stands for the field, whose value is the same unless a cache has set it.
 * Fields that come several times are joined (RFC 3875 section 4.1.18). Names of fields that hold something other than letters,
 * digits and "-" are left out: another name could come to the same.
 */
function fieldParams(headers: HeaderList, configured: ReadonlySet<string>): Param[] {
  const fields = new Map<string, string>()
  for (const [name, value] of headers) {
    if (NOT_PASSED.has(name) || !/^[a-z\d-]+$/.test(name)) continue
    const param = fieldParam(name)
    if (configured.has(param) && !OF_ASKER.has(param)) continue
    const before = fields.get(param)
    fields.set(param, before === undefined ? value : `${before}${name === 'cookie' ? '; ' : ', '}${value}`)
  }
  return [...fields]
}

/** `HTTP_ACCEPT_LANGUAGE` for the field `accept-language`. */
export function fieldParam(name: string): string {
  return `HTTP_${name.toUpperCase().replaceAll('-', '_')}`
}

/** A cache sends GET for a request with HEAD. */
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
