import type { SegmentNode } from '@svc/site'
import { guestSettings } from '../host/host.ts'
import { jsx } from '../react/react-runtime.ts'
import type { AnswerHead } from '../request/answer.ts'
import type { GuestRequest } from '../request/guest-request.ts'
import type { ControlFlow } from '../scope/control-flow.ts'
import { openScope, type RequestScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'
import { type BoundaryKind, type BoundaryPlan, collectedPlan, type Replacement, streamedPlan } from './boundaries.ts'
import { builtinErrorDocument, builtinHttpPage, minimalDocument } from './builtin-pages.ts'
import { errorProps, shownDigest } from './error-props.ts'
import { componentOf } from './module-exports.ts'
import { type PageDocument, pageDocument } from './page-document.ts'
import { type GuestRoute, PageInput } from './page-input.ts'
import { latePart, recoverPage } from './page-recovery.ts'
import { PageStream } from './page-stream.ts'
import { collect, type RenderPass, renderPass } from './render-pass.ts'
import { applyConfig, configChain, mergeConfig } from './segment-config.ts'
import { isKnownParams, paramLevels, paramNames } from './static-params.ts'
import { answerRedirect } from './thrown-answer.ts'

/** Runs a page: kind `page` of a request. */
export function runPage(guest: GuestRequest): void | Promise<void> {
  const route = guest.route as GuestRoute | undefined
  if (route === undefined || route.tree === null) throw new RouterError('ROUTER_MISUSE', 'The request names no page.')
  if (route.problem !== undefined) throw new RouterError('ROUTER_BAD_EXPORT', route.problem)
  const run = new PageRun(guest, openScope(guest, 'page'), route.tree, route.globalError ?? undefined)
  return run.start(new Map())
}

/** Runs a path that no route matches: the root's `not-found.*` inside the root layout, status 404. */
export function runNotFound(guest: GuestRequest): void | Promise<void> {
  const scope = openScope(guest, 'page')
  const route = guest.route as GuestRoute | undefined
  const tree: SegmentNode = route?.tree ?? { segment: '', metadata: [], slots: {} }
  const run = new PageRun(guest, scope, tree, route?.globalError ?? undefined)
  return run.start(new Map([[tree, { kind: 'http', status: 404 }]]))
}

type Replaced = ReadonlyMap<SegmentNode, Replacement>

const htmlType = ['content-type', 'text/html; charset=utf-8'] as const

/** Status and fields of a page. */
function htmlHead(status: number): AnswerHead {
  return { status, headers: [htmlType] }
}

/** One page on its way to an answer. */
class PageRun {
  readonly scope: RequestScope
  readonly tree: SegmentNode
  readonly #guest: GuestRequest
  readonly #globalError: string | undefined
  readonly #input: PageInput

  constructor(guest: GuestRequest, scope: RequestScope, tree: SegmentNode, globalError: string | undefined) {
    this.#guest = guest
    this.scope = scope
    this.tree = tree
    this.#globalError = globalError
    this.#input = new PageInput(scope)
  }

  /** Not async, and no promise more than needed: see `renderPass`. */
  start(initial: Replaced): void | Promise<void> {
    const config = mergeConfig(configChain(this.tree))
    applyConfig(this.scope, config)
    if (config.dynamicParams) return this.#render(initial)
    return this.#isKnown().then((isKnown) =>
      this.#render(isKnown ? initial : new Map([[this.tree, { kind: 'http', status: 404 }]])),
    )
  }

  #render(replaced: Replaced): Promise<void> {
    const streams = this.#guest.begin.mayStream && replaced.size === 0
    const page = this.#build({ ...(streams ? streamedPlan : collectedPlan), replaced })
    const pass = renderPass(this.scope, page.element, { waitForAll: !streams })
    return pass.then((result) => this.#answer(page, result, replaced))
  }

  #answer(page: PageDocument, pass: RenderPass, replaced: Replaced): void | Promise<void> {
    if (pass.errors.length > 0 || pass.outcome.kind === 'failed') return this.#recover(pass, replaced)
    if (pass.outcome.kind === 'pending') return this.#stream(page, pass)
    const html = collect(this.scope, pass.outcome.source)
    if (typeof html === 'string') return this.#send(statusOf(replaced), html)
    return html.then((text) => this.#send(statusOf(replaced), text))
  }

  #send(status: number, html: string): void {
    this.#guest.answer.complete(htmlHead(status), html)
  }

  build(replaced: Replaced, probe: BoundaryKind | undefined): PageDocument {
    return this.#build({ replaced, probe, streams: false })
  }

  #build(plan: BoundaryPlan): PageDocument {
    return this.scope.run(() => pageDocument(this.tree, this.#input, plan))
  }

  async #isKnown(): Promise<boolean> {
    const { params } = this.#guest.begin
    const own = Object.fromEntries(
      paramNames(this.tree).flatMap((name) => (params[name] === undefined ? [] : [[name, params[name]]])),
    )
    return await this.scope.run(() => isKnownParams(paramLevels(this.tree), own))
  }

  async #stream(page: PageDocument, pass: RenderPass): Promise<void> {
    if (pass.outcome.kind === 'failed') return
    const { source } = pass.outcome
    this.#guest.answer.head(htmlHead(200))
    this.#guest.onAbort(() => source.cancel(this.#guest.signal.reason))
    const stream = new PageStream(this.#guest.answer, (failure) => latePart(page, this.tree, pass.errors, failure))
    this.#guest.answer.finish(await this.scope.run(() => stream.run(source)))
  }

  async #recover(pass: RenderPass, replaced: Replaced): Promise<void> {
    if (pass.outcome.kind !== 'failed') pass.outcome.source.cancel('The page is built again.')
    const recovery = await recoverPage(this, pass, replaced)
    if (recovery.kind === 'redirect') answerRedirect(this.#guest, recovery.flow)
    else if (recovery.kind === 'html') this.#send(recovery.status, recovery.html)
    else await this.#giveUp(recovery.error, recovery.flow)
  }

  /** Nothing of the page can be shown: `global-error.*`, else a page of our own (in development the error itself). */
  async #giveUp(error: unknown, flow: ControlFlow | undefined): Promise<void> {
    if (flow?.kind === 'http') {
      const html = await this.#renderAlone(minimalDocument(builtinHttpPage(flow.status)))
      this.#send(flow.status, html ?? '')
      return
    }
    const html = this.#globalError === undefined ? undefined : await this.#renderGlobalError(this.#globalError, error)
    if (html === undefined && guestSettings().mode === 'development') {
      this.#guest.answer.fail(error)
      return
    }
    this.#guest.answer.handled(error, this.#globalError)
    this.#send(500, html ?? builtinErrorDocument(shownDigest(error)))
  }

  async #renderGlobalError(file: string, error: unknown): Promise<string | undefined> {
    return await this.#renderAlone(this.scope.run(() => jsx(componentOf(file), errorProps(error, this.#guest.begin.url))))
  }

  /** The HTML of a document that stands outside of the page; undefined when it fails too. */
  async #renderAlone(element: unknown): Promise<string | undefined> {
    const pass = await renderPass(this.scope, element, { waitForAll: true })
    if (pass.errors.length === 0 && pass.outcome.kind !== 'failed') {
      return await collect(this.scope, pass.outcome.source)
    }
    this.#guest.answer.handled(pass.errors[0], this.#globalError)
    return undefined
  }
}

function statusOf(replaced: Replaced): number {
  const [first] = replaced.values()
  return first?.kind === 'http' ? first.status : 200
}
