import type { HeaderList, ResponseHead } from '@svc/http'
import type { UpstreamTrail } from '@svc/upstream'
import type { Captures, ServerSpec } from '@svc/vhosts'
import type { VhostMatch } from '../generation/host-routing.ts'
import type { RequestEnd } from '../request/formatted-logs.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { CompiledLocation, CompiledServer } from './compiled-server.ts'
import type { LimitWords } from './location-limits.ts'
import type { Rewritable } from './rewriting.ts'
import type { LocationVariables, ScriptPath } from './variable-input.ts'

/** How often a request may go on at another path. */
const MAX_CHANGES = 10

const WITH_VALIDATORS: ReadonlySet<number> = new Set([200, 206, 304])
const OF_WHOLE_FILES = ['last-modified', 'accept-ranges']

/** One request at its server, after rewriting and inner redirects so far. */
export class RunState implements Rewritable<CompiledLocation> {
  readonly context: RequestContext
  readonly compiled: CompiledServer
  readonly server: ServerSpec
  readonly isQuoted: boolean
  uri: string
  args: string
  method: string
  captures: Captures
  quotesCaptures = false
  sentHeaders: HeaderList = []
  sentStatus: number | undefined
  end: RequestEnd | undefined
  isCharsetAdded = false
  cacheWord = ''
  upstreamHeaders: HeaderList = []
  /** True for a request that the location of another one makes: no access is checked. */
  readonly isSubrequest: boolean = false
  trail: UpstreamTrail | undefined
  location: CompiledLocation
  /** True if an inner redirect or a rewrite led here: then `internal` locations may be visited. */
  isInternal = false
  /** True if the path is still the one that the client sent. */
  isAsSent = true
  /** True if the location's text still begins the path. */
  isPrefixValid = true
  /** A rewrite requests another search for a location. */
  mustFindLocation = false
  /** `try_files` found a file for a pattern with `alias`, whose path is to be added to it. */
  addsUriToAlias = false
  changesLeft = MAX_CHANGES + 1
  /** The body is too long: as with nginx, no limit of the page that shows this matters. */
  isBodyRefused = false
  /** An error has been seen in a location that has pages for errors: there is one page for each request. */
  hadError = false
  /** Address of the peer, once a proxy of the vhost file has named the client. */
  proxyAddress: string | undefined
  /** Port of the client, as the proxy named it. */
  clientPort: number | undefined
  /** The status of every response from now on. */
  status: number | undefined
  /** Of the client's request, once limits have been applied to it. */
  limitWords: LimitWords | undefined
  /** Fields of an error that its page has too. */
  carried: HeaderList = []
  /** The first variable that was set: most requests need no table. */
  #firstName: string | undefined
  #firstValue = ''
  #values: Map<string, string> | undefined

  constructor(context: RequestContext, compiled: CompiledServer, vhost: VhostMatch, path: { path: string; isQuoted: boolean }) {
    this.context = context
    this.compiled = compiled
    this.server = compiled.spec
    this.location = compiled.fallback
    this.uri = path.path
    this.isQuoted = path.isQuoted
    this.args = context.request.query
    this.method = context.request.method
    this.captures = vhost.captures
    if (vhost.names.size > 0) this.#values = new Map(vhost.names)
  }

  get ofLocation(): LocationVariables {
    return this.location.variables
  }

  /** The request of the client that this one belongs to. */
  get main(): RunState {
    return this
  }

  get requestMethod(): string {
    return this.method
  }

  variable(name: string): string | undefined {
    return name === this.#firstName ? this.#firstValue : this.#values?.get(name)
  }

  setVariable(name: string, value: string): void {
    this.#firstName ??= name
    if (name === this.#firstName) {
      this.#firstValue = value
      return
    }
    this.#values ??= new Map()
    this.#values.set(name, value)
  }

  /** The response is sent at the pace of its location, whichever that is then. */
  limitRate(): void {
    this.context.withdrawFromL0()
    this.context.pace = () => this.location.variables.pace(this)
  }

  documentRoot(): string {
    return this.location.files?.dir(this) ?? ''
  }

  fileName(): string {
    // The path is not below the location any more.
    if (!this.isPrefixValid && this.location.files?.kind === 'alias') return ''
    return this.location.files?.path(this, this.uri, this.addsUriToAlias) ?? ''
  }

  scriptPath(): ScriptPath {
    return this.location.scripts?.of(this) ?? { name: this.uri, info: '' }
  }

  rewritten(isFinal: boolean): void {
    this.isInternal = true
    this.isAsSent = false
    if (isFinal) this.isPrefixValid = false
    this.mustFindLocation = !isFinal
  }

  setArgs(args: string): void {
    this.args = args
    this.isAsSent = false
  }

  endRewriting(): void {
    if (this.mustFindLocation) this.isPrefixValid = false
    this.mustFindLocation = false
  }

  /** Finds the client behind the proxies of a level, where no level before has found it. */
  findClient({ realIp }: CompiledLocation): void {
    const { context } = this
    context.realIp = realIp
    if (realIp === undefined || this.proxyAddress !== undefined) return
    const { client } = context
    const { headers } = context.request
    const found = realIp.find(client.address, { headers, proxied: context.exchange.request.connection?.proxied })
    if (found === undefined) return
    this.proxyAddress = client.address
    this.clientPort = found.port
    const { scheme, host, isPeerTrusted } = client
    context.client = { address: found.address, scheme, host, isPeerTrusted }
  }

  /** Counts a change of the path. False: there were too many. */
  mayChange(): boolean {
    this.changesLeft--
    return this.changesLeft > 0
  }

  /** The head of a response, with the fields that the location and an earlier error add. */
  shape(head: ResponseHead): ResponseHead {
    const status = this.status === 200 && WITH_VALIDATORS.has(head.status) ? head.status : (this.status ?? head.status)
    const isPlain = status === head.status && this.carried.length === 0
    const carrying = isPlain ? head : { status, headers: withMissing(fieldsFor(status, head), this.carried) }
    return this.location.addFields === undefined ? carrying : this.location.addFields(this, carrying)
  }
}

/** Fields that describe the file do not apply to the page of an error. */
function fieldsFor(status: number, head: ResponseHead): HeaderList {
  if (status === head.status || WITH_VALIDATORS.has(status)) return head.headers
  const dropped = status === 204 ? [...OF_WHOLE_FILES, 'content-type'] : OF_WHOLE_FILES
  return head.headers.filter(([name]) => !dropped.includes(name.toLowerCase()))
}

/** Fields, and those of others that are not among them. */
export function withMissing(headers: HeaderList, more: HeaderList): HeaderList {
  const added = more.filter(([name]) => !headers.some(([known]) => known.toLowerCase() === name.toLowerCase()))
  return added.length === 0 ? headers : [...headers, ...added]
}
