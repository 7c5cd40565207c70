import { decodePath, escapeUri, normalizePath } from '@svc/http'
import type { VhostMatch } from '../generation/host-routing.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { CompiledLocation } from './compiled-server.ts'
import { errorPageOf } from './error-pages.ts'
import type { InnerTarget, Outcome, PhaseRun, VhostTools } from './phase-run.ts'
import { RunState } from './run-state.ts'
import { tryFiles } from './try-files.ts'
import type { VhostRuntime } from './vhost-runtime.ts'
import type { Found } from './web-files.ts'

/** The owner of a path at a server: the server itself, none (a catch-all at most), or an application that may know the path. */
type PathClaim =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'free' }
  | { readonly kind: 'app'; readonly site: string; readonly path: string }

const claimed: PathClaim = Object.freeze({ kind: 'claimed' })
const free: PathClaim = Object.freeze({ kind: 'free' })

/**
 * Follows a request through its server until its handler is decided, and sends nothing. A path is the server's where
 * something runs or is proxied for it, by whatever way the request gets there; where a file has this path; and where a location
 * is written for it. A catch-all that serves files claims nothing.
 */
class ClaimRun implements PhaseRun {
  readonly state: RunState
  readonly tools: VhostTools
  claim: PathClaim = free
  readonly #asked: string

  constructor(state: RunState, tools: VhostTools) {
    this.state = state
    this.tools = tools
    this.#asked = state.uri
  }

  start(): Outcome {
    const { state } = this
    state.isPrefixValid = true
    state.location = state.compiled.fallback
    return state.compiled.rewrite(state).kind === 'on' ? this.#findLocation() : this.#end(claimed)
  }

  look(path: string): Found {
    return this.tools.files.look(path)
  }

  noteFound(): void {
    // This run stores nothing.
  }

  offer(): boolean {
    return false
  }

  fail(status: number): Outcome {
    const page = errorPageOf(this.state, this.tools.templates, status)
    return page?.kind === 'inside' ? this.goInside(page.target) : this.#end(free)
  }

  redirect(): Outcome {
    return this.#end(free)
  }

  goInside(target: InnerTarget): Outcome {
    const { state } = this
    if (!state.mayChange()) return this.#end(free)
    state.isAsSent = false
    if ('named' in target) {
      const location = state.compiled.locations.named(target.named)
      return location === undefined ? this.#end(free) : this.#enter(location)
    }
    state.uri = target.uri
    state.args = target.args
    state.addsUriToAlias = false
    return this.start()
  }

  #findLocation(): Outcome {
    const { state } = this
    const choice = state.compiled.locations.find(state.uri, state)
    if (choice.kind === 'slash') return this.#end(claimed)
    const location = choice.kind === 'none' ? state.compiled.fallback : choice.value
    return state.isAsSent && isWrittenFor(location, this.#asked) ? this.#end(claimed) : this.#enter(location)
  }

  #enter(location: CompiledLocation): Outcome {
    const { state } = this
    state.location = location
    state.mustFindLocation = false
    if (location.rewrite(state).kind !== 'on') return this.#end(claimed)
    if (!state.mustFindLocation) return this.#content()
    return state.mayChange() ? this.#findLocation() : this.#end(free)
  }

  #content(): Outcome {
    const { state } = this
    const { content, tryFiles: candidates } = state.location.settings
    if (content.kind === 'proxy' || content.kind === 'fastcgi') return this.#end(claimed)
    // The application of the server itself claims its routes; one that a location names has all that the location matches.
    if (content.kind === 'app' && content.site !== state.server.site) return this.#end(claimed)
    const ended = candidates === undefined ? undefined : tryFiles(this, candidates)
    if (ended !== undefined) return ended
    return content.kind === 'app' ? this.#end({ kind: 'app', site: content.site, path: pathForApp(state) }) : this.#file()
  }

  #file(): Outcome {
    const { state } = this
    const found = this.look(state.fileName())
    if (found !== 'file' && found !== 'directory') return this.fail(404)
    // `/index.html` for every path is a catch-all; `/health.html` for `/health` is not.
    return this.#end(state.uri.includes(this.#asked) ? claimed : free)
  }

  #end(claim: PathClaim): Outcome {
    this.claim = claim
    return 'answered'
  }
}

/** Returns true for a location that is written for a path, and not for all: by its text, or because it restricts access. */
function isWrittenFor({ match, settings }: CompiledLocation, path: string): boolean {
  if (match === undefined) return false
  if (match.kind === 'exact') return true
  if (match.kind === 'prefix' && match.path === path) return true
  if (match.kind === 'prefix' && match.path.length <= 1) return false
  return settings.isInternal || settings.access.length > 0 || settings.authBasic !== undefined
}

function pathForApp({ isAsSent, uri, context }: RunState): string {
  return isAsSent ? context.request.path : (normalizePath(escapeUri(uri)) ?? '')
}

/** Finds the owner of a path at a server of a vhost file. */
export function claimOf(context: RequestContext, rawPath: string, vhost: VhostMatch, runtime: VhostRuntime): PathClaim {
  const path = decodePath(rawPath)
  if (path === undefined) return free
  const state = new RunState(context, runtime.server(vhost.server), vhost, path)
  const run = new ClaimRun(state, runtime.tools)
  // All of its steps are done at once.
  void run.start()
  return run.claim
}
