import { type HeaderList, urlOf } from '@svc/http'
import type { StageResult } from '../request/request-context.ts'
import type { FileHandler } from '../static/index.ts'
import type { CompiledLocation } from './compiled-server.ts'
import type { WorkerLimits } from './location-limits.ts'
import type { FileAuth } from './passwords/file-auth.ts'
import type { RewriteOutcome } from './rewriting.ts'
import type { RunState } from './run-state.ts'
import type { StubStatus } from './stub-status.ts'
import type { Subrequests } from './subrequest-context.ts'
import type { Templates } from './templates.ts'
import type { Found, WebFiles } from './web-files.ts'

/** Completion of a response: done at once, or later. */
export type Outcome = StageResult | Promise<StageResult>

/** Target of an inner redirect. */
export type InnerTarget = { readonly uri: string; readonly args: string } | { readonly named: string }

/** A response that rewriting gives. */
export type RewriteEnd = Exclude<RewriteOutcome, { kind: 'on' }>

/** Content of responses. */
export interface VhostTools {
  readonly templates: Templates
  readonly files: WebFiles
  readonly fileHandler: FileHandler
  readonly basicAuth: FileAuth
  readonly limits: WorkerLimits
  readonly stubStatus: StubStatus
  readonly subrequests: Subrequests
  readonly onProblem: (error: Error) => void
}

/** Methods that no server answers. */
const REFUSED_METHODS: ReadonlySet<string> = new Set(['TRACE', 'CONNECT'])

/** A request on its way through the phases of its server: rewriting, location, content. */
export abstract class PhaseRun {
  readonly state: RunState
  readonly tools: VhostTools

  constructor(state: RunState, tools: VhostTools) {
    this.state = state
    this.tools = tools
  }

  /** Answers with an error of this server. */
  abstract fail(status: number, headers?: HeaderList): Outcome

  /** Answers with a URL to go to; a path is made absolute. */
  abstract redirect(status: number, url: string): Outcome

  /** Rewriting has answered the request. */
  protected abstract rewriteEnded(outcome: RewriteEnd): Outcome

  /** The path has led to a location. Undefined: the request goes on there. */
  protected abstract arrived(location: CompiledLocation, needsSlash: boolean): Outcome | undefined

  /** The location is final. */
  protected abstract visit(): Outcome

  /** From the beginning: the server's rewriting, then its locations. */
  start(): Outcome {
    const { state } = this
    state.isPrefixValid = true
    this.comeTo(state.compiled.fallback)
    if (REFUSED_METHODS.has(state.method)) return this.fail(405)
    const outcome = state.compiled.rewrite(state)
    return outcome.kind === 'on' ? this.#findLocation() : this.rewriteEnded(outcome)
  }

  /** Looks up the target of a path; the response is valid only while the target stays the same. */
  look(path: string): Found {
    const found = this.tools.files.look(path)
    this.noteFound(path, found)
    return found
  }

  /** Notes a target that was found without `look`. */
  noteFound(_path: string, _found: Found): void {
    // Of use for a response that is stored.
  }

  /** Offers the response to L0. `isCurrent`: a further condition. @returns true if L0 admits it */
  offer(_isCurrent?: () => boolean): boolean {
    return false
  }

  goInside(target: InnerTarget): Outcome {
    const { state } = this
    if (!state.mayChange()) return this.fail(500)
    state.isInternal = true
    if ('named' in target) {
      const location = state.compiled.locations.named(target.named)
      return location === undefined ? this.fail(500) : this.#enter(location)
    }
    state.uri = target.uri
    state.args = target.args
    state.isAsSent = false
    state.addsUriToAlias = false
    return this.start()
  }

  protected comeTo(location: CompiledLocation): void {
    this.state.location = location
  }

  #findLocation(): Outcome {
    const { state } = this
    state.mustFindLocation = false
    const { locations, fallback } = state.compiled
    const choice = locations.find(state.uri, state)
    const location = choice.kind === 'none' ? fallback : choice.value
    const needsSlash = choice.kind === 'slash'
    const ended = this.arrived(location, needsSlash)
    if (ended !== undefined) return ended
    return needsSlash ? this.redirect(301, urlOf(choice.path, state.args)) : this.#enter(location)
  }

  #enter(found: CompiledLocation): Outcome {
    const { state } = this
    const { limited } = found
    if (limited?.dividesHead === true) state.context.withdrawFromL0()
    const location = limited === undefined || limited.except.has(state.method) ? found : limited.location
    this.comeTo(location)
    state.mustFindLocation = false
    const outcome = location.rewrite(state)
    // An `if` has settings of its own.
    if (state.location !== location) this.comeTo(state.location)
    if (outcome.kind !== 'on') return this.rewriteEnded(outcome)
    if (!state.mustFindLocation) return this.visit()
    return state.mayChange() ? this.#findLocation() : this.fail(500)
  }
}
