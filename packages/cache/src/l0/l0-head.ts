import { type HeaderList, parseCacheControl, type ResponseHead } from '@svc/http'

/** Fields that belong to one delivery, not to the response. */
const DELIVERY_FIELDS: ReadonlySet<string> = new Set(['age', 'cache-status', 'x-request-id'])
const STATUS = 'cache-status'
const HIT: HeaderList = [[STATUS, 'svc-l0; hit']]

/** How a stored head is sent. */
interface AgingOptions {
  /** True if Cache-Control stays as it is. @default false */
  readonly keepsLifetime?: boolean | undefined
  /** True if the response says nothing of this cache. @default false */
  readonly hidesStatus?: boolean | undefined
}

/** Fields that describe a body, which a 304 has none of (RFC 9110 section 15.4.5). */
function describesBody(name: string): boolean {
  return name === 'accept-ranges' || (name.startsWith('content-') && name !== 'content-location')
}

/** A response head that grows older: of a stored response `Age` and `s-maxage` change with time, all else stays. */
export class AgingHead {
  readonly #status: number
  readonly #keepsLifetime: boolean
  readonly #added: HeaderList
  /** Without the fields of one delivery. */
  readonly #headers: HeaderList
  /** Age when it was stored, in seconds; undefined: the response does not age here, like a file. */
  readonly #ageSeconds: number | undefined

  constructor({ status, headers }: ResponseHead, { keepsLifetime = false, hidesStatus = false }: AgingOptions) {
    this.#status = status
    this.#keepsLifetime = keepsLifetime
    this.#added = hidesStatus ? [] : HIT
    const isKept = (name: string) => !DELIVERY_FIELDS.has(name) || (hidesStatus && name === STATUS)
    this.#headers = headers.filter(([name]) => isKept(name.toLowerCase()))
    const age = fieldOf(headers, 'age')
    const isShared = parseCacheControl(fieldOf(headers, 'cache-control')).sMaxage !== undefined
    this.#ageSeconds = age === undefined && !isShared ? undefined : Number(age ?? 0)
  }

  get status(): number {
    return this.#status
  }

  /** True if the fields change from second to second. */
  get ages(): boolean {
    return this.#ageSeconds !== undefined
  }

  get etag(): string | undefined {
    return fieldOf(this.#headers, 'etag')
  }

  /** True if parts of the body may be sent. */
  get hasRanges(): boolean {
    return this.#status === 200 && fieldOf(this.#headers, 'accept-ranges') === 'bytes'
  }

  /** The head as sent `seconds` (whole) after it was stored. */
  after(seconds: number): ResponseHead {
    return { status: this.#status, headers: this.#fieldsAfter(seconds) }
  }

  /** The head of a 304 in place of it. */
  notModifiedAfter(seconds: number): ResponseHead {
    return { status: 304, headers: this.#fieldsAfter(seconds).filter(([name]) => !describesBody(name.toLowerCase())) }
  }

  #fieldsAfter(seconds: number): HeaderList {
    if (this.#ageSeconds === undefined) return [...this.#headers, ...this.#added]
    const older = this.#headers.map(([name, value]) =>
      name.toLowerCase() === 'cache-control' && !this.#keepsLifetime
        ? ([name, withLessLeft(value, seconds)] as const)
        : ([name, value] as const),
    )
    return [...older, ['age', String(this.#ageSeconds + seconds)], ...this.#added]
  }
}

function fieldOf(headers: HeaderList, wanted: string): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1]
}

/** An ISR response says in `s-maxage` how much of its freshness is left. */
function withLessLeft(cacheControl: string, seconds: number): string {
  return cacheControl.replace(/\bs-maxage=(\d+)/i, (_all, left) => `s-maxage=${Math.max(0, Number(left) - seconds)}`)
}
