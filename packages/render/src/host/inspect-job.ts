import { asError } from '@svc/core'
import type { EmittedFacts, InspectRequest } from '@svc/guest'
import { loadLimitMs, type RenderResult, type RenderTask } from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import { readModules } from './emitted.ts'
import type { PoolJob } from './site-pool.ts'

/** Evaluates modules of a site and reports their plain-data config exports. */
export class InspectJob implements PoolJob {
  readonly task: RenderTask
  readonly #timeoutMs: number
  readonly #settled = Promise.withResolvers<NonNullable<EmittedFacts['modules']>>()
  deadlineAt = Number.POSITIVE_INFINITY

  constructor(number: number, modules: readonly string[], timeoutMs: number) {
    this.#timeoutMs = timeoutMs
    this.task = {
      number,
      kind: 'inspect',
      route: '',
      begin: JSON.stringify({ modules } satisfies InspectRequest),
      requestId: '',
      body: undefined,
      hasBodyPieces: false,
      mayStream: false,
      cdnLoop: '',
      trace: undefined,
    }
  }

  /** Module id -> config exports. Rejects with the error of the modules. */
  get exports(): Promise<NonNullable<EmittedFacts['modules']>> {
    return this.#settled.promise
  }

  started(): void {
    this.deadlineAt = performance.now() + loadLimitMs(this.#timeoutMs) + this.#timeoutMs
  }

  result(result: RenderResult): void {
    if (result.kind !== 'inspected') {
      this.fail(new RenderError('RENDER_FAILED', `the inspection ended as ${result.kind}`))
      return
    }
    try {
      this.#settled.resolve(readModules(result.facts))
    } catch (error) {
      this.fail(asError(error))
    }
  }

  fail(error: Error): void {
    this.#settled.reject(error)
  }

  end(): void {
    this.fail(new RenderError('RENDER_FAILED', 'the inspection ended as a stream'))
  }

  // An inspection has no body and streams nothing.
  head(): void {
    this.end()
  }

  chunk(): void {
    this.end()
  }

  wantBody(): void {
    this.end()
  }

  bodyTaken(): void {
    this.end()
  }
}
