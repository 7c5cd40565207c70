import { Response as GuestResponseClass, redirectStatuses } from '../prelude/fetch/response.ts'
import { ResponseCookies } from '../scope/cookies.ts'
import { RouterError } from '../scope/router-error.ts'

/** The guest's own class under the type of the standard. Nothing is global yet when this is evaluated. */
const StandardResponse = GuestResponseClass as unknown as typeof Response

/** Third way to answer in middleware: go on, with other request fields. */
interface MiddlewareResponseInit extends ResponseInit {
  readonly request?: { readonly headers?: Headers }
}

/** The App Router's response: a `Response` with `cookies` and the answers that only middleware can give. */
export class NextResponse extends StandardResponse {
  #cookies: ResponseCookies | undefined

  /** Cookies to set; each change goes to the Set-Cookie fields at once. */
  get cookies(): ResponseCookies {
    if (this.#cookies === undefined) {
      const others = this.headers.getSetCookie()
      this.#cookies = new ResponseCookies((fields) => {
        this.headers.delete('set-cookie')
        for (const field of [...others, ...fields]) this.headers.append('set-cookie', field)
      })
    }
    return this.#cookies
  }

  static override json(body: unknown, init: ResponseInit = {}): NextResponse {
    const headers = new Headers(init.headers)
    if (!headers.has('content-type')) headers.set('content-type', 'application/json')
    return new NextResponse(JSON.stringify(body), { ...init, headers })
  }

  /** Throws RangeError for a status that is no redirect. */
  static override redirect(url: string | URL, init: number | ResponseInit = 307): NextResponse {
    const fields = typeof init === 'number' ? { status: init } : init
    const status = fields.status ?? 307
    if (!redirectStatuses.has(status)) {
      throw new RangeError('Failed to execute "redirect" on "response": Invalid status code')
    }
    const headers = new Headers(fields.headers)
    headers.set('location', absolute(url, 'redirect'))
    return new NextResponse(null, { ...fields, status, headers })
  }

  /** Middleware: answer with the page of another URL. */
  static rewrite(url: string | URL, init: MiddlewareResponseInit = {}): NextResponse {
    const headers = new Headers(init.headers)
    headers.set('x-middleware-rewrite', absolute(url, 'rewrite'))
    addRequestHeaders(headers, init)
    return new NextResponse(null, { ...init, headers })
  }

  /** Middleware: go on. */
  static next(init: MiddlewareResponseInit = {}): NextResponse {
    const headers = new Headers(init.headers)
    headers.set('x-middleware-next', '1')
    addRequestHeaders(headers, init)
    return new NextResponse(null, { ...init, headers })
  }
}

function addRequestHeaders(headers: Headers, init: MiddlewareResponseInit): void {
  const changed = init.request?.headers
  if (changed === undefined) return
  const names = [...changed.keys()]
  for (const name of names) headers.set(`x-middleware-request-${name}`, changed.get(name) ?? '')
  headers.set('x-middleware-override-headers', names.join(','))
}

function absolute(url: string | URL, what: string): string {
  try {
    return String(new URL(String(url)))
  } catch {
    // The URL class names neither the argument nor the call.
    throw new RouterError(
      'ROUTER_BAD_ARGUMENT',
      `NextResponse.${what} needs an absolute URL, not ${JSON.stringify(String(url))}.`,
    )
  }
}
