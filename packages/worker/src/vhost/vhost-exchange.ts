import type { HeaderList } from '@svc/http'
import { UpstreamTrail } from '@svc/upstream'
import type { Template } from '@svc/vhosts'
import { sendFailure } from '../request/error-response.ts'
import type { RequestContext } from '../request/request-context.ts'
import { redirectTarget } from './listen-port.ts'
import type { LocationExchange } from './location-handler.ts'
import type { InnerTarget, Outcome, PhaseRun } from './phase-run.ts'
import type { RunState } from './run-state.ts'
import { readForAnswer, type Templates } from './templates.ts'

/** A request as the content of its location sees it. Holds its state on arrival there. */
export class VhostExchange implements LocationExchange {
  readonly context: RequestContext
  readonly method: string
  readonly matchedPrefix: string
  readonly isPrefixValid: boolean
  readonly uri: string
  readonly args: string
  readonly isRewritten: boolean
  readonly trail: UpstreamTrail | undefined
  readonly #state: RunState
  readonly #templates: Templates
  readonly #run: Pick<PhaseRun, 'fail' | 'goInside'>

  constructor(state: RunState, templates: Templates, run: Pick<PhaseRun, 'fail' | 'goInside'>) {
    this.#state = state
    this.#templates = templates
    this.#run = run
    this.context = state.context
    this.method = state.method
    this.matchedPrefix = state.location.matchedPrefix
    this.isPrefixValid = state.isPrefixValid
    this.uri = state.uri
    this.args = state.args
    this.isRewritten = !state.isAsSent
    if (state.context.generation.spec.web.recordsUpstreams) state.trail ??= new UpstreamTrail()
    this.trail = state.trail
  }

  text(template: Template): string {
    return readForAnswer(this.#state, this.#templates.of(template))
  }

  requestText(template: Template): string {
    return this.#templates.of(template).read(this.#state)
  }

  setVariable(name: string, value: string): void {
    this.#state.setVariable(name, value)
  }

  noteCache(word: string): void {
    this.#state.cacheWord = word
  }

  noteUpstream(headers: HeaderList): void {
    this.#state.upstreamHeaders = headers
  }

  redirectTarget(path: string): string {
    const { location, server } = this.#state
    return redirectTarget(this.context, path, location.settings.redirects, server.name)
  }

  hasErrorPage(status: number): boolean {
    return this.#state.location.settings.errorPages.some(({ statuses }) => statuses.includes(status))
  }

  /** Unlike those of a file, the errors of an upstream are never cached. */
  fail(status: number, headers?: HeaderList): void {
    this.context.withdrawFromL0()
    settle(this.context, () => this.#run.fail(status, headers))
  }

  /** As with nginx, another path is requested with GET: the effect of the request has happened already. */
  redirectInside(target: InnerTarget): void {
    this.context.withdrawFromL0()
    if ('uri' in target && this.#state.method !== 'HEAD') this.#state.method = 'GET'
    settle(this.context, () => this.#run.goInside(target))
  }
}

/** Takes a step without a caller that waits for it. */
export function settle(context: RequestContext, step: () => Outcome): void {
  const failed = (error: unknown) => sendFailure(context, error)
  try {
    const outcome = step()
    if (outcome instanceof Promise) outcome.catch(failed)
  } catch (error) {
    failed(error)
  }
}
