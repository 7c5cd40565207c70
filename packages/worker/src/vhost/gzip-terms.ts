import { systemClock } from '@svc/core'
import { type HeaderList, parseCacheControl, parseHttpDate, type ResponseHead } from '@svc/http'
import { type CompressionSpec, Pattern } from '@svc/vhosts'
import { type CompressionTerms, fieldOf, type TermsRequest } from '../compression/index.ts'

/** Statuses whose bodies nginx compresses. */
const STATUSES: ReadonlySet<number> = new Set([200, 403, 404])

const noCaptures = { captures: [], setVariable: () => undefined }

/** The versions of Internet Explorer that nginx means by "msie6". */
function isOldExplorer(agent: string): boolean {
  const at = agent.indexOf('MSIE ')
  const version = at < 0 ? '' : agent.slice(at + 5, at + 7)
  return version === '4.' || version === '5.' || (version === '6.' && !agent.includes('SV1', at))
}

/** `gzip on` with its terms, which are those of nginx. */
export class GzipTerms implements CompressionTerms {
  readonly minBytes: number
  readonly hasVary: boolean
  readonly #spec: CompressionSpec
  readonly #types: ReadonlySet<string> | 'all'
  readonly #conditions: ReadonlySet<string>
  readonly #disabled: readonly ((agent: string) => boolean)[]

  constructor(spec: CompressionSpec) {
    this.minBytes = spec.minBytes
    this.hasVary = spec.hasVary
    this.#spec = spec
    this.#types = spec.types.includes('*') ? 'all' : new Set(['text/html', ...spec.types])
    this.#conditions = new Set(spec.proxied)
    this.#disabled = spec.disabled.map((agent) => {
      if (agent === 'msie6') return isOldExplorer
      const pattern = new Pattern(agent)
      return (text: string) => pattern.test(text, { ...noCaptures })
    })
  }

  mayCode({ status, headers }: ResponseHead): boolean {
    if (!STATUSES.has(status) || fieldOf(headers, 'content-encoding') !== undefined) return false
    if (this.#types === 'all') return true
    const [type = ''] = fieldOf(headers, 'content-type')?.split(';', 1) ?? []
    return this.#types.has(type.trim().toLowerCase())
  }

  isLikeOthers(request: TermsRequest): boolean {
    return this.#isServed(request) && (this.#conditions.has('any') || request.field('via') === undefined)
  }

  excepts(request: TermsRequest, { headers }: ResponseHead): boolean {
    return this.#isServed(request) && this.#isProxiedAllowed(request, headers)
  }

  #isServed(request: TermsRequest): boolean {
    if (request.httpVersion === '1.0' && this.#spec.httpVersion !== '1.0') return false
    if (this.#disabled.length === 0) return true
    const agent = request.field('user-agent')
    return agent === undefined || !this.#disabled.some((isDisabled) => isDisabled(agent))
  }

  /** `gzip_proxied`: the first field that says how long a response is fresh decides. */
  #isProxiedAllowed(request: TermsRequest, headers: HeaderList): boolean {
    const conditions = this.#conditions
    if (conditions.has('off')) return false
    if (conditions.has('auth') && request.field('authorization') !== undefined) return true
    const expires = fieldOf(headers, 'expires')
    if (expires !== undefined) {
      const end = parseHttpDate(expires)
      return conditions.has('expired') && end !== undefined && end < systemClock.now()
    }
    const cacheControl = fieldOf(headers, 'cache-control')
    if (cacheControl !== undefined) {
      const { noCache, noStore, isPrivate } = parseCacheControl(cacheControl)
      return (
        (conditions.has('no-cache') && noCache) ||
        (conditions.has('no-store') && noStore) ||
        (conditions.has('private') && isPrivate)
      )
    }
    if (conditions.has('no_last_modified') && fieldOf(headers, 'last-modified') !== undefined) return false
    return !(conditions.has('no_etag') && fieldOf(headers, 'etag') !== undefined)
  }
}
