import { messageOf, ReplyWithBytes } from '@svc/core'
import type { RenderReply, RenderRequest } from '@svc/protocol'
import { compileRoutes, isStaticPattern, type Route, type SiteManifest, staticPaths } from '@svc/site'

const MAX_PAGES = 200
const MAX_BYTES = 16 * 1024 * 1024
/** Renders at a time: the release in service needs the processors as well. */
const PARALLEL = 2
/** Pages are begun for this long. */
const BUDGET_MS = 15_000
/** How long a page waits for its first request. */
const KEPT_MS = 60_000

type RenderedReply = RenderReply | ReplyWithBytes<RenderReply>

/** A site that is to be in service soon. */
interface ComingSite {
  readonly id: string
  readonly manifest: SiteManifest
  /** Scheme and host that its pages are rendered for. */
  readonly origin: string
  /** Rejects with the error of the render. */
  run(request: RenderRequest): Promise<RenderedReply>
}

interface KeptPage {
  readonly reply: RenderedReply
  readonly bytes: number
  /** On the clock of `performance.now()`. */
  readonly until: number
}

function partsOf(reply: RenderedReply): { readonly facts: RenderReply; readonly bytes: Uint8Array } {
  if (!(reply instanceof ReplyWithBytes)) return { facts: reply, bytes: new Uint8Array(0) }
  return { facts: reply.body, bytes: Buffer.from(reply.bytes) }
}

/** How long a page may be given to a request that it was not rendered for, in milliseconds; 0: not at all. */
function keptMs({ head, cache }: RenderReply): number {
  if (head?.status !== 200 || cache === undefined || cache.reads.length > 0) return 0
  if (head.headers.some(([name]) => name.toLowerCase() === 'set-cookie')) return 0
  return typeof cache.revalidate === 'number' ? Math.min(KEPT_MS, cache.revalidate * 1_000) : KEPT_MS
}

/**
 * Pages of a site that were rendered before the site is in service: those whose paths are known, and that depend on nothing of a
 * request. Each is given to the first request for it, and lost with the first purge.
 */
export class PagesAhead {
  readonly #pages = new Map<string, KeptPage>()
  #version = ''
  #bytes = 0
  /** Counts the events that made pages outdated. */
  #clears = 0
  #isAhead = false

  /** True from the first render until the site is in service: its code must not see data of the release in service, nor leave any. */
  get isAhead(): boolean {
    return this.#isAhead
  }

  /** Nothing of the site is to be shared with the release in service from now on. */
  begin(): void {
    this.#isAhead = true
  }

  /** Renders the known pages. Resolves with why some of them failed. */
  async render(site: ComingSite): Promise<string[]> {
    const endAt = performance.now() + BUDGET_MS
    const clears = this.#clears
    this.#version = site.manifest.version
    const problems: string[] = []
    const paths = pathsOf(site, problems)
    const renderAll = async () => {
      for await (const request of paths) {
        if (performance.now() > endAt || this.#pages.size >= MAX_PAGES || this.#clears !== clears) return
        const reply = await site.run(request).catch((error) => {
          problems.push(`${new URL(request.url).pathname}: ${messageOf(error)}`)
        })
        if (reply === undefined) continue
        const status = partsOf(reply).facts.head?.status ?? 0
        if (status >= 500) problems.push(`${new URL(request.url).pathname}: status ${status}`)
        if (this.#clears === clears) this.#keep(request, reply)
      }
    }
    await Promise.all(Array.from({ length: PARALLEL }, renderAll))
    return problems
  }

  /** The page for a request, which no other request gets. Undefined: it has to be rendered. */
  take({ kind, method, url, manifestVersion }: RenderRequest): RenderedReply | undefined {
    if (this.#pages.size === 0 || kind !== 'page' || method !== 'GET' || manifestVersion !== this.#version) return undefined
    const { pathname, search } = new URL(url)
    const page = search === '' ? this.#pages.get(pathname) : undefined
    if (page === undefined) return undefined
    this.#pages.delete(pathname)
    this.#bytes -= page.bytes
    return performance.now() > page.until ? undefined : page.reply
  }

  /** The site is in service: nothing that it renders is ahead any more. */
  served(): void {
    if (!this.#isAhead) return
    this.#isAhead = false
    setTimeout(() => this.clear(), KEPT_MS).unref()
  }

  /** Content or code has changed: pages that were rendered before may be outdated. */
  clear(): void {
    this.#clears++
    this.#pages.clear()
    this.#bytes = 0
  }

  #keep({ url }: RenderRequest, rendered: RenderedReply): void {
    const { facts, bytes } = partsOf(rendered)
    const forMs = keptMs(facts)
    if (forMs === 0 || this.#bytes + bytes.byteLength > MAX_BYTES) return
    this.#bytes += bytes.byteLength
    const reply = new ReplyWithBytes({ ...facts, queueMs: 0, renderMs: 0 }, bytes)
    this.#pages.set(new URL(url).pathname, { reply, bytes: bytes.byteLength, until: performance.now() + forMs })
  }
}

/** Requests for the pages whose paths are known: first those without parameters, then those of `generateStaticParams`. */
async function* pathsOf(site: ComingSite, problems: string[]): AsyncGenerator<RenderRequest> {
  const { manifest } = site
  const table = compileRoutes(manifest)
  const isPlain = ({ segments, slotParams }: Route) => isStaticPattern(segments) && slotParams.length === 0
  const pages = manifest.routes.filter(({ kind, problem }) => kind === 'page' && problem === undefined)
  const request = (path: string): RenderRequest | undefined => {
    const match = table.match(path)
    if (match === undefined || match.redirect !== undefined || match.route.kind !== 'page') return undefined
    return requestOf(site, match.route, { path, params: match.params as RenderRequest['params'] })
  }
  for (const { pattern } of pages.filter(isPlain)) {
    const plain = request(pattern)
    if (plain !== undefined) yield plain
  }
  for (const route of pages.filter((page) => page.hasStaticParams && !isPlain(page))) {
    const paths = await knownPaths(site, route).catch((error) => {
      problems.push(`generateStaticParams of ${route.pattern}: ${messageOf(error)}`)
    })
    for (const path of paths ?? []) {
      const known = request(path)
      if (known !== undefined) yield known
    }
  }
}

async function knownPaths(site: ComingSite, route: Route): Promise<string[]> {
  const asked: RenderRequest = { ...requestOf(site, route, { path: '/', params: {} }), kind: 'static-paths' }
  const { facts, bytes } = partsOf(await site.run(asked))
  return (facts.head?.status === 200 && staticPaths(route.pattern, JSON.parse(Buffer.from(bytes).toString()))) || []
}

/** A request that names no client. */
function requestOf(
  { id: site, manifest, origin }: ComingSite,
  { id }: Route,
  { path, params }: { readonly path: string; readonly params: RenderRequest['params'] },
): RenderRequest {
  const { host } = new URL(origin)
  return {
    site,
    manifestVersion: manifest.version,
    kind: 'page',
    route: id,
    params,
    requestId: `ahead ${path}`,
    method: 'GET',
    url: `${origin}${path}`,
    headers: [['host', host]],
    remoteAddress: '',
    mayStream: false,
  }
}
