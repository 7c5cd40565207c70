import { Request as GuestRequestClass } from '../prelude/fetch/request.ts'
import { URL } from '../prelude/fetch/url.ts'
import { RequestCookies } from '../scope/cookies.ts'

/** The guest's own class under the type of the standard. Nothing is global yet when this is evaluated. */
const StandardRequest = GuestRequestClass as unknown as typeof Request

/** Called when site code reads a part of an observed `NextURL`. */
type NoteRead = (read: 'query' | 'host') => void

/** A URL as `request.nextUrl` has it: a URL with `clone()` and an empty `basePath` and `locale`. */
export class NextURL extends URL {
  get basePath(): string {
    return ''
  }

  get locale(): string {
    return ''
  }

  get buildId(): undefined {
    return undefined
  }

  /** A copy to change and to redirect or rewrite to. Reads of the copy are not reported: only its making is. */
  clone(): NextURL {
    return new NextURL(this.href)
  }
}

/** The fact about the request that each part of a URL reveals. The path is not among them: an answer always depends on it. */
const observed = {
  search: ['query'],
  searchParams: ['query'],
  host: ['host'],
  hostname: ['host'],
  port: ['host'],
  origin: ['host'],
  protocol: ['host'],
  href: ['host', 'query'],
  toString: ['host', 'query'],
  toJSON: ['host', 'query'],
} as const satisfies Readonly<Record<string, readonly ('query' | 'host')[]>>

/** Makes a `NextURL` that reports reads of its parts, and that can be changed like any other. */
function observedUrl(text: string, note: NoteRead): NextURL {
  const url = new NextURL(text)
  for (const [name, reads] of Object.entries(observed)) {
    Object.defineProperty(url, name, {
      configurable: true,
      get: () => {
        for (const read of reads) note(read)
        return Reflect.get(NextURL.prototype, name, url)
      },
      set: (value: unknown) => Reflect.set(NextURL.prototype, name, value, url),
    })
  }
  return url
}

/** Called when site code reads a part of a `NextRequest`. */
type NoteRequestRead = (read: 'headers' | 'cookies' | 'query' | 'host') => void

/** Parts of a request beyond the standard; kept apart so that a received request can become one without being copied. */
interface Parts {
  readonly url: string
  readonly headers: Headers
  readonly note: NoteRequestRead | undefined
  nextUrl: NextURL | undefined
  cookies: RequestCookies | undefined
}

const parts = new WeakMap<object, Parts>()

function partsOf(request: NextRequest): Parts {
  const known = parts.get(request)
  if (known !== undefined) return known
  const made = { url: request.url, headers: request.headers, note: undefined, nextUrl: undefined, cookies: undefined }
  parts.set(request, made)
  return made
}

/** The App Router's request: a `Request` with `nextUrl` and `cookies`. */
export class NextRequest extends StandardRequest {
  constructor(input: Request | string | URL, init: RequestInit = {}) {
    super(typeof input === 'string' || input instanceof URL ? String(input) : (input as Request), init)
  }

  get nextUrl(): NextURL {
    const own = partsOf(this)
    own.nextUrl ??= own.note === undefined ? new NextURL(own.url) : observedUrl(own.url, own.note)
    return own.nextUrl
  }

  get cookies(): RequestCookies {
    const own = partsOf(this)
    own.note?.('cookies')
    own.cookies ??= new RequestCookies(own.headers)
    return own.cookies
  }
}

/**
 * Makes a received request the one that site code gets: the same object, body and all, as a `NextRequest` that reports what is
 * read of it.
 */
export function observedRequest(received: object, note: NoteRequestRead): NextRequest {
  const request = Object.setPrototypeOf(received, NextRequest.prototype) as NextRequest
  const own: Parts = { url: request.url, headers: request.headers, note, nextUrl: undefined, cookies: undefined }
  parts.set(request, own)
  Object.defineProperty(request, 'url', {
    enumerable: true,
    get() {
      note('host')
      note('query')
      return own.url
    },
  })
  Object.defineProperty(request, 'headers', {
    enumerable: true,
    get() {
      note('headers')
      return own.headers
    },
  })
  return request
}
