import type { HeaderList } from '@svc/http'
import { UpstreamError } from '@svc/upstream'
import type { Template } from '@svc/vhosts'
import { sendStatus } from '../request/error-response.ts'
import type { RequestContext } from '../request/request-context.ts'
import { redirectTarget } from '../vhost/listen-port.ts'
import type { LocationExchange } from '../vhost/location-handler.ts'

const REDIRECTS = { isAbsolute: true, hasPort: true, hasServerName: false }

/** A request that a rule sends on, as the handler of a location sees it. */
export class RuleExchange implements LocationExchange {
  readonly context: RequestContext
  readonly method: string
  readonly matchedPrefix: string
  readonly isPrefixValid = true
  readonly uri: string
  readonly args: string
  readonly isRewritten = false

  /**
   * @param stripped prefix that is left out, without a final slash; "" for none
   * @param path decoded, one character for each byte
   */
  constructor(context: RequestContext, stripped: string, path: string) {
    this.context = context
    this.method = context.request.method
    this.args = context.request.query
    // `/api` is the root below `/api`, as `/api/` is.
    this.uri = path === stripped ? `${path}/` : path
    this.matchedPrefix = this.uri.startsWith(`${stripped}/`) ? `${stripped}/` : '/'
  }

  text(template: Template): string {
    return this.requestText(template)
  }

  requestText(template: Template): string {
    return template.map((piece) => (typeof piece === 'string' ? piece : this.#variable(piece.variable))).join('')
  }

  /** No rule reads them. */
  readonly trail = undefined

  setVariable(): void {
    // Nothing that a rule says reads them.
  }

  noteCache(): void {
    // The same.
  }

  redirectTarget(path: string): string {
    return redirectTarget(this.context, path, REDIRECTS, this.#variable('server_name'))
  }

  /** A rule has no pages for errors. */
  hasErrorPage(): boolean {
    return false
  }

  fail(status: number, headers: HeaderList = []): void {
    this.context.withdrawFromL0()
    sendStatus(this.context, status, headers)
  }

  noteUpstream(): void {
    // A rule has no variables that read it.
  }

  /** A rule has no locations that its upstream could name. */
  redirectInside(): void {
    this.context.reportFailure(
      new UpstreamError('UPSTREAM_BAD_ANSWER', 'the upstream of a route rule sent X-Accel-Redirect'),
      502,
    )
    this.fail(502)
  }

  /** The variables that the settings of a rule read. */
  #variable(name: string): string {
    const { client, request, vhost } = this.context
    switch (name) {
      case 'proxy_add_x_forwarded_for':
        return forwardedFor(this.context)
      case 'scheme':
        return client.scheme
      case 'http_host':
        return client.host
      case 'server_name':
        return vhost?.server.name ?? request.host
      default:
        return ''
    }
  }
}

/** Forwards the values that trusted proxies in front sent, and drops those of all other clients. */
function forwardedFor({ request, client }: RequestContext): string {
  const address = request.remoteAddress || 'unix:'
  if (!client.isPeerTrusted) return address
  const said = request.headers.filter(([name]) => name === 'x-forwarded-for').map(([, value]) => value)
  return [...said, address].join(', ')
}
