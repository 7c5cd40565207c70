import type { PluginSpec } from '@svc/config'
import { asError, type Clock } from '@svc/core'
import type { PluginReport } from '@svc/protocol'
import type { PluginCall, PluginHooks } from '@svc/site/types/plugin'
import type { Histogram, Series } from '@svc/telemetry'
import { WorkerError } from '../errors/errors.ts'
import type { CheckedPlugin, HookName } from './plugin-shape.ts'

/** After so many failures in a row a plugin is switched off. */
const MAX_FAILURES = 10
/** Calls past their deadline that have not ended. With more of them, further calls are skipped. */
const MAX_LATE = 100
const MAX_MESSAGE_CHARS = 2_000
/** Between two lines about failures of one plugin. */
const LINE_INTERVAL_MS = 1_000

/** Makes the id of the request that a call is for; undefined: it is for none. */
type RequestId = (() => string) | undefined

type PluginLogLevel = Parameters<PluginCall['log']>[0]

/** Connections of a plugin to its worker. */
export interface PluginPorts {
  readonly clock: Clock
  readonly log: (level: PluginLogLevel, fields: Readonly<Record<string, unknown>>, message: string) => void
  /** It has failed too often in a row. */
  readonly onOff: (plugin: PluginSpec, reason: string) => void
  readonly counts: (plugin: string, hook: HookName) => { readonly invocations: Series; readonly duration: Histogram }
  readonly errors: (plugin: string) => Series
}

/** One hook, with its counts. */
export interface Hook {
  readonly name: HookName
  /** Name of the stage in flows and of the span. */
  readonly stage: `plugin:${string}`
  readonly invocations: Series
  readonly duration: Histogram
}

/** A loaded plugin in a worker: calls its hooks with a deadline, counts, and skips it once it is off. */
export class RunningPlugin {
  readonly spec: PluginSpec
  readonly checked: CheckedPlugin
  /** Why it is off; undefined: it is not. */
  offReason: string | undefined
  readonly hooks: ReadonlyMap<HookName, Hook>
  readonly #ports: PluginPorts
  readonly #errors: Series
  #invocations = 0
  #failures = 0
  #failuresInRow = 0
  #lastError: string | null = null
  #late = 0
  #lineAt = Number.NEGATIVE_INFINITY
  #unlogged = 0

  constructor(spec: PluginSpec, checked: CheckedPlugin, ports: PluginPorts) {
    this.spec = spec
    this.checked = checked
    this.#ports = ports
    this.#errors = ports.errors(spec.name)
    const names = Object.keys(checked.hooks) as HookName[]
    this.hooks = new Map(
      names.map((name) => [name, { name, stage: `plugin:${spec.name}:${name}`, ...ports.counts(spec.name, name) }]),
    )
  }

  report(): PluginReport {
    const { spec, checked, offReason } = this
    return {
      name: spec.name,
      hash: spec.hash,
      version: checked.version,
      hooks: [...this.hooks.keys()],
      cacheable: checked.cacheable,
      timeout_ms: checked.timeoutMs,
      off_reason: offReason ?? null,
      invocations: this.#invocations,
      errors: this.#failures,
      last_error: this.#lastError,
    }
  }

  /** Calls are counted from zero again. */
  switchOn(): void {
    this.offReason = undefined
    this.#failuresInRow = 0
  }

  /**
   * Calls a hook. `read` checks the result, and throws where it is none. The promise never rejects: a call that fails or is late has
   * no result, as a plugin that is off.
   */
  call<Result>(
    hook: Hook,
    requestId: RequestId,
    run: (hooks: PluginHooks, call: PluginCall) => unknown,
    read: (value: unknown) => Result | undefined,
  ): Result | undefined | Promise<Result | undefined> {
    if (this.offReason !== undefined) return undefined
    if (this.#late >= MAX_LATE) {
      this.#fail(
        hook,
        requestId,
        new WorkerError('WORKER_PLUGIN', `skipped: ${this.#late} calls past their deadline have not ended`),
      )
      return undefined
    }
    const call = new HookCall((level, message) => this.#log(level, hook, requestId, message))
    const began = this.#ports.clock.monotonic()
    this.#invocations++
    hook.invocations.value++
    let value: unknown
    try {
      value = run(this.checked.hooks, call)
      if (isThenable(value)) return this.#await(hook, requestId, { began, call, promise: Promise.resolve(value), read })
      const result = value === undefined ? undefined : read(value)
      this.#ended(hook, requestId, began)
      return result
    } catch (error) {
      hook.duration.observe((this.#ports.clock.monotonic() - began) / 1000)
      this.#fail(hook, requestId, error)
      return undefined
    }
  }

  #await<Result>(hook: Hook, requestId: RequestId, { began, call, promise, read }: Waiting<Result>): Promise<Result | undefined> {
    const { clock } = this.#ports
    const { timeoutMs } = this.checked
    return new Promise((resolve) => {
      let isLate = false
      const cancel = clock.after(timeoutMs, () =>
        // A process that was held up takes in first what has come meanwhile.
        setImmediate(() => {
          if (isDone) return
          isLate = true
          this.#late++
          hook.duration.observe((clock.monotonic() - began) / 1000)
          this.#fail(hook, requestId, new WorkerError('WORKER_PLUGIN', `took longer than ${timeoutMs} ms`))
          call.abort()
          resolve(undefined)
        }),
      )
      let isDone = false
      const settle = (end: () => Result | undefined) => {
        isDone = true
        cancel()
        if (isLate) {
          this.#late--
          return
        }
        try {
          const result = end()
          this.#ended(hook, requestId, began)
          resolve(result)
        } catch (error) {
          hook.duration.observe((clock.monotonic() - began) / 1000)
          this.#fail(hook, requestId, error)
          resolve(undefined)
        }
      }
      promise.then(
        (value) => settle(() => (value === undefined ? undefined : read(value))),
        (error) =>
          settle(() => {
            throw error
          }),
      )
    })
  }

  /** A call has a result. One that held up the whole process past the deadline counts as a failure all the same. */
  #ended(hook: Hook, requestId: RequestId, began: number): void {
    const tookMs = this.#ports.clock.monotonic() - began
    hook.duration.observe(tookMs / 1000)
    const { timeoutMs } = this.checked
    if (tookMs <= timeoutMs) this.#failuresInRow = 0
    else
      this.#fail(
        hook,
        requestId,
        new WorkerError('WORKER_PLUGIN', `took ${Math.round(tookMs)} ms, longer than ${timeoutMs} ms; its result was used`),
      )
  }

  #fail(hook: Hook, requestId: RequestId, thrown: unknown): void {
    const error = asError(thrown)
    const message = `${hook.name}: ${error.message}`.slice(0, MAX_MESSAGE_CHARS)
    this.#errors.value++
    this.#failures++
    this.#failuresInRow++
    this.#lastError = message
    this.#logFailure(requestId, error, message)
    if (this.#failuresInRow < MAX_FAILURES || this.offReason !== undefined) return
    this.offReason = `${MAX_FAILURES} failures in a row, the last one: ${message}`
    this.#ports.onOff(this.spec, this.offReason)
  }

  #logFailure(requestId: RequestId, err: Error, message: string): void {
    const { clock, log } = this.#ports
    if (clock.monotonic() - this.#lineAt < LINE_INTERVAL_MS) {
      this.#unlogged++
      return
    }
    this.#lineAt = clock.monotonic()
    const more = this.#unlogged === 0 ? {} : { not_logged: this.#unlogged }
    this.#unlogged = 0
    log(
      'warn',
      { plugin: this.spec.name, ...ofRequest(requestId), ...more, err },
      `plugin ${this.spec.name} failed in ${message}`,
    )
  }

  #log(level: PluginLogLevel, hook: Hook, requestId: RequestId, message: string): void {
    const fields = { plugin: this.spec.name, hook: hook.name, ...ofRequest(requestId) }
    this.#ports.log(level, fields, String(message).slice(0, MAX_MESSAGE_CHARS))
  }
}

interface Waiting<Result> {
  readonly began: number
  readonly call: HookCall
  readonly promise: Promise<unknown>
  readonly read: (value: unknown) => Result | undefined
}

function ofRequest(requestId: RequestId): { readonly request_id?: string } {
  return requestId === undefined ? {} : { request_id: requestId() }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** The last argument of a hook. The signal is made when the hook asks for it. */
class HookCall implements PluginCall {
  readonly log: PluginCall['log']
  #controller: AbortController | undefined
  #isOver = false

  constructor(log: PluginCall['log']) {
    this.log = log
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#isOver) this.#controller.abort()
    return this.#controller.signal
  }

  abort(): void {
    this.#isOver = true
    this.#controller?.abort()
  }
}
