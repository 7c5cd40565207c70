import type { HeaderList } from '@svc/http'
import type { CgiContext, OriginRequest } from '../origin/origin.ts'
import type { Gateway, Param } from './gateway.ts'

/** An application must not take a field of a client for the proxy of its own requests. */
const NOT_PASSED: ReadonlySet<string> = new Set(['proxy'])
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
  /** Undefined: it is longer than the protocol allows. */
  readonly text: string | undefined
}

/**
 * Writes the requests to one upstream, without their bodies. A request that says the same as the one before, by lists that are the
 * same, is not written again.
 */
export class RequestTexts {
  readonly #gateway: Pick<Gateway, 'begin' | 'encode' | 'statesLength'>
  #fields: WrittenFields | undefined
  #last: Written | undefined

  constructor(gateway: Pick<Gateway, 'begin' | 'encode' | 'statesLength'>) {
    this.#gateway = gateway
  }

  /** The request up to its body, one character for each byte. Undefined: it is longer than the protocol allows. */
  of(request: OriginRequest, keepsConnection: boolean): string | undefined {
    const { method, headers, body, cgi = noParams } = request
    const { params: own, configured } = cgi
    const length = body?.isPresent === true ? body.length : undefined
    const fields = this.#fieldsOf(headers, configured)
    const last = this.#last
    const isSame = last?.own === own && last.fields === fields && last.method === method && last.length === length
    if (isSame && last.keepsConnection === keepsConnection) return last.text
    const params = this.#gateway.encode(this.#ownParams(request)) + fields.text
    const text = this.#gateway.begin(params, { keepsConnection, length, hasBody: body?.isPresent === true })
    this.#last = { own, fields, method, length, keepsConnection, text }
    return text
  }

  #fieldsOf(headers: HeaderList, configured: ReadonlySet<string>): WrittenFields {
    const known = this.#fields
    if (known?.headers === headers && known.configured === configured) return known
    const fields = { headers, configured, text: this.#gateway.encode(fieldParams(headers, configured)) }
    if (Object.isFrozen(headers)) this.#fields = fields
    return fields
  }

  /** The parameters of a request itself. Its method and its length are those that are sent. */
  #ownParams({ method, body, cgi = noParams }: OriginRequest): readonly Param[] {
    const params = withMethod(
      cgi.params.filter(([name]) => !OF_ASKER.has(name)),
      method,
    )
    return withLength(params, body?.isPresent === true ? body.length : undefined, !this.#gateway.statesLength)
  }
}

/**
 * A parameter of the form `HTTP_NAME` for each field. Where a parameter of that name is configured, it stands for the field, whose value is the same unless a cache has set it.
 * Fields that come several times are joined (RFC 3875 section 4.1.18). The caller has left out names that must not come to the same as
 * others.
 */
function fieldParams(headers: HeaderList, configured: ReadonlySet<string>): Param[] {
  const fields = new Map<string, string>()
  for (const [name, value] of headers) {
    if (NOT_PASSED.has(name)) continue
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

/**
 * The length is that of the body which is sent, whatever the fields of the client's request say.
 * @param isAdded true if it is added where no parameter states it
 */
function withLength(params: readonly Param[], length: number | undefined, isAdded: boolean): readonly Param[] {
  const text = length === undefined ? '' : String(length)
  if (params.some(([name]) => name === 'CONTENT_LENGTH')) {
    return params.map((param) => (param[0] === 'CONTENT_LENGTH' ? ['CONTENT_LENGTH', text] : param))
  }
  return text === '' || !isAdded ? params : [...params, ['CONTENT_LENGTH', text]]
}
