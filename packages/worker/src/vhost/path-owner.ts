import { decodePath, escapeUri, normalizePath } from '@svc/http'
import { isPassed } from '@svc/vhosts'
import type { VhostMatch } from '../generation/host-routing.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { CompiledLocation } from './compiled-server.ts'
import { errorPageOf } from './error-pages.ts'
import { type Outcome, PhaseRun, type VhostTools } from './phase-run.ts'
import { RunState } from './run-state.ts'
import { tryFiles } from './try-files.ts'
import type { VhostRuntime } from './vhost-runtime.ts'

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
class ClaimRun extends PhaseRun {
  claim: PathClaim = free
  readonly #asked: string

  constructor(state: RunState, tools: VhostTools) {
    super(state, tools)
    this.#asked = state.uri
  }

  fail(status: number): Outcome {
    const page = errorPageOf(this.state, this.tools.templates, status)
    return page?.kind === 'inside' ? this.goInside(page.target) : this.#end(free)
  }

  redirect(): Outcome {
    return this.#end(free)
  }

  protected override rewriteEnded(): Outcome {
    return this.#end(claimed)
  }

  protected override arrived(location: CompiledLocation, needsSlash: boolean): Outcome | undefined {
    const isWritten = this.state.isAsSent && isWrittenFor(location, this.#asked)
    return needsSlash || isWritten ? this.#end(claimed) : undefined
  }

  protected override visit(): Outcome {
    const { state } = this
    const { content, tryFiles: candidates } = state.location.settings
    if (isPassed(content)) return this.#end(claimed)
    // The application of the server itself claims its routes; one that a location names has all that the location matches.
    if (content.kind === 'app' && content.site !== state.server.site) return this.#end(claimed)
    const ended = candidates === undefined ? undefined : tryFiles(this, candidates)
    if (ended !== undefined) return ended
    if (content.kind !== 'app') return this.#file()
    const path = state.isAsSent ? state.context.request.path : (normalizePath(escapeUri(state.uri)) ?? '')
    return this.#end({ kind: 'app', site: content.site, path })
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
  return (
    settings.isInternal ||
    settings.access.length > 0 ||
    settings.authBasic !== undefined ||
    settings.guard.authRequest !== undefined
  )
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
