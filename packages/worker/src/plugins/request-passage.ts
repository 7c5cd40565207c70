import { asError } from '@svc/core'
import type { HeaderList, HttpRequest, ResponseHead } from '@svc/http'
import type { PluginCall, PluginHooks, PluginRequest, PluginRoute } from '@svc/site/types/plugin'
import type { CodeFields, PluginPassage } from '../request/plugin-passage.ts'
import type { RequestContext, StageResult } from '../request/request-context.ts'
import { rewrittenRequest } from '../request/rewritten-request.ts'
import {
  type FieldChanges,
  type RequestChange,
  type ResponseChange,
  readRequestChange,
  readResponseChange,
  withFields,
} from './plugin-results.ts'
import type { HookName } from './plugin-shape.ts'
import { requestView, responseFields } from './plugin-view.ts'
import type { Hook, RunningPlugin } from './running-plugin.ts'

/** A plugin that has a hook. */
export interface Hooked {
  readonly plugin: RunningPlugin
  readonly hook: Hook
}

/** The plugins of a generation, by hook and in their order. */
export type HookTable = Readonly<Record<HookName, readonly Hooked[]>>

type Run = (hooks: PluginHooks, request: PluginRequest, call: PluginCall) => unknown

/** One request on its way through the plugins of its generation. */
export class RequestPassage implements PluginPassage {
  readonly seesResponses: boolean
  isAnswering = false
  readonly #context: RequestContext
  readonly #table: HookTable
  #route: PluginRoute | undefined
  #isRendering = false
  #isShaped = false
  #view: { readonly of: HttpRequest; readonly site: unknown; readonly shown: PluginRequest } | undefined

  constructor(context: RequestContext, table: HookTable) {
    this.#context = context
    this.#table = table
    this.seesResponses = table.onResponse.length > 0
  }

  /** Runs `onRequest`. */
  begin(): StageResult | Promise<StageResult> {
    const keys = ['respond', 'requestHeaders', 'rewrite'] as const
    return this.#change(this.#table.onRequest, keys, (hooks, request, call) => hooks.onRequest?.(request, call))
  }

  routed(route: PluginRoute): StageResult | Promise<StageResult> {
    if (this.#route !== undefined || this.isAnswering) return 'next'
    this.#route = Object.freeze(route)
    const keys = ['respond', 'requestHeaders'] as const
    return this.#change(this.#table.onRoute, keys, (hooks, request, call) => hooks.onRoute?.(request, route, call))
  }

  rendering(fields: CodeFields): CodeFields | Promise<CodeFields> {
    const hooked = this.#table.beforeRender
    if (hooked.length === 0 || this.#isRendering) return fields
    this.#isRendering = true
    const route: PluginRoute = this.#route ?? { site: this.#context.site?.config.id, kind: 'app', pattern: '' }
    const state = { fields }
    const done = this.#each<RequestChange>(
      hooked,
      (hooks, request, call) => hooks.beforeRender?.(request, route, call),
      (value) => readRequestChange(value, ['requestHeaders']),
      (change) => {
        if (state.fields !== undefined && change.fields !== undefined)
          state.fields = withFields(state.fields, change.fields).map(([name, value]) => [name, value])
        return this.#apply(change)
      },
    )
    this.#leave(done, 'router')
    return done instanceof Promise ? done.then(() => state.fields) : state.fields
  }

  shaped(head: ResponseHead): ResponseHead | Promise<ResponseHead> {
    const hooked = this.#table.onResponse
    if (hooked.length === 0 || this.#isShaped) return head
    this.#isShaped = true
    const state = { head }
    const done = this.#each<ResponseChange>(
      hooked,
      (hooks, request, call) => {
        const { status, headers } = state.head
        return hooks.onResponse?.(request, Object.freeze({ status, headers: responseFields(headers) }), call)
      },
      (value) => readResponseChange(value, state.head.status),
      ({ status = state.head.status, fields }) => {
        state.head = { status, headers: fields === undefined ? state.head.headers : withFields(state.head.headers, fields) }
        return 'next'
      },
    )
    this.#leave(done, 'write')
    return done instanceof Promise ? done.then(() => state.head) : state.head
  }

  failed({ status, code }: { readonly status: number; readonly code: string }, answer: () => void): boolean {
    const hooked = this.#table.onError
    if (hooked.length === 0 || this.isAnswering) return false
    this.isAnswering = true
    const error = Object.freeze({ status, code })
    const done = this.#each<RequestChange>(
      hooked,
      (hooks, request, call) => hooks.onError?.(request, error, call),
      (value) => readRequestChange(value, ['respond']),
      (change) => this.#apply(change),
    )
    const settle = (result: StageResult) => {
      if (result !== 'answered') answer()
    }
    if (done instanceof Promise) done.then(settle).catch((thrown) => this.#context.reportFailure(asError(thrown), status))
    else settle(done)
    return true
  }

  #change(
    hooked: readonly Hooked[],
    keys: Parameters<typeof readRequestChange>[1],
    run: Run,
  ): StageResult | Promise<StageResult> {
    if (hooked.length === 0) return 'next'
    const done = this.#each<RequestChange>(
      hooked,
      run,
      (value) => readRequestChange(value, keys),
      (change) => this.#apply(change),
    )
    this.#leave(done, 'router')
    return done
  }

  /** Calls one plugin after the other; each sees the changes of those before. */
  #each<Result>(
    hooked: readonly Hooked[],
    run: Run,
    read: (value: unknown) => Result,
    apply: (result: Result) => StageResult,
    from = 0,
  ): StageResult | Promise<StageResult> {
    for (let at = from; at < hooked.length; at++) {
      const { plugin, hook } = hooked[at] as Hooked
      this.#context.enter(hook.stage)
      const request = this.#shown()
      const result = plugin.call(
        hook,
        () => this.#context.requestId,
        (hooks, call) => run(hooks, request, call),
        read,
      )
      if (result instanceof Promise) {
        return result.then((value) =>
          value !== undefined && apply(value) === 'answered' ? 'answered' : this.#each(hooked, run, read, apply, at + 1),
        )
      }
      if (result !== undefined && apply(result) === 'answered') return 'answered'
    }
    return 'next'
  }

  #leave(done: StageResult | Promise<StageResult>, next: 'router' | 'write'): void {
    const leave = (result: StageResult) => {
      if (result === 'next') this.#context.enter(next)
    }
    if (done instanceof Promise) void done.then(leave)
    else leave(done)
  }

  #apply({ respond, fields, target }: RequestChange): StageResult {
    const context = this.#context
    if (respond !== undefined) {
      context.respondCompressed(respond.head, respond.body)
      return 'answered'
    }
    if (target === undefined && !hasEffect(context.request, fields)) return 'next'
    // Caches behind know the request as its client sent it.
    context.isChangedByPlugin = true
    context.request = changedRequest(context.request, fields, target)
    return 'next'
  }

  #shown(): PluginRequest {
    const { request, site } = this.#context
    if (this.#view?.of !== request || this.#view.site !== site)
      this.#view = { of: request, site, shown: requestView(this.#context) }
    return this.#view.shown
  }
}

/** False if the fields to be removed are not there. */
function hasEffect(request: HttpRequest, fields: FieldChanges | undefined): boolean {
  return [...(fields ?? [])].some(([name, values]) => values !== null || request.header(name) !== undefined)
}

function changedRequest(request: HttpRequest, fields: FieldChanges | undefined, target: RequestChange['target']): HttpRequest {
  const { rawPath, path, query } = target ?? request
  const aimed = rewrittenRequest(request, { rawPath, path, query })
  if (fields === undefined) return aimed
  let headers: HeaderList | undefined
  const changed = () => {
    headers ??= withFields(request.headers, fields)
    return headers
  }
  return Object.defineProperties(aimed, {
    headers: { get: changed, enumerable: true },
    header: { value: (name: string) => changed().find(([known]) => known === name)?.[1], enumerable: true },
  })
}
