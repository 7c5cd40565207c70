import { type Context, currentContext, runInContext } from '../context/context.ts'
import { whenSettled } from './async-to-generator.ts'

type ResumeKind = 'next' | 'throw' | 'return'
type Inner = Generator<unknown, unknown, unknown>

/** A value that a lowered async generator hands out for itself, not for its consumer: an await, or a step of `yield*`. */
class InnerYield {
  readonly value: unknown
  readonly isDelegate: boolean

  constructor(value: unknown, isDelegate: boolean) {
    this.value = value
    this.isDelegate = isDelegate
  }
}

interface QueuedRequest {
  readonly kind: ResumeKind
  readonly argument: unknown
  readonly context: Context | undefined
  readonly resolve: (result: IteratorResult<unknown>) => void
  readonly reject: (error: unknown) => void
}

/** An async generator object over a plain generator. Requests are answered in order, one at a time (ECMA-262 27.6.3). */
class LoweredAsyncGenerator {
  readonly #generator: Inner
  readonly #queue: QueuedRequest[] = []

  constructor(generator: Inner) {
    this.#generator = generator
  }

  next(value?: unknown): Promise<IteratorResult<unknown>> {
    return this.#enqueue('next', value)
  }

  throw(error?: unknown): Promise<IteratorResult<unknown>> {
    return this.#enqueue('throw', error)
  }

  return(value?: unknown): Promise<IteratorResult<unknown>> {
    return this.#enqueue('return', value)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  #enqueue(kind: ResumeKind, argument: unknown): Promise<IteratorResult<unknown>> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ kind, argument, context: currentContext(), resolve, reject })
      if (this.#queue.length === 1) this.#resume(kind, argument)
    })
  }

  #resume(kind: ResumeKind, argument: unknown): void {
    let result: IteratorResult<unknown>
    try {
      result = this.#generator[kind](argument)
    } catch (error) {
      this.#settle((request) => request.reject(error))
      return
    }
    const context = currentContext()
    const yielded = result.value
    whenSettled(
      yielded instanceof InnerYield ? yielded.value : yielded,
      (value) => runInContext(context, () => this.#continue(kind, result, value)),
      (error) => runInContext(context, () => this.#fail(result, error)),
    )
  }

  #continue(kind: ResumeKind, result: IteratorResult<unknown>, value: unknown): void {
    const yielded = result.value
    if (!(yielded instanceof InnerYield)) {
      this.#settle((request) => request.resolve({ value, done: result.done === true }))
      return
    }
    const next = kind === 'return' && yielded.isDelegate ? 'return' : 'next'
    let handedOut: unknown
    try {
      if (!yielded.isDelegate || (value as IteratorResult<unknown>).done === true) {
        this.#resume(next, value)
        return
      }
      // The delegate waits for its answer as its own next value: it comes back as the step to hand out.
      handedOut = this.#generator[next](value).value
    } catch (error) {
      // A result of the inner iterator has a getter that throws.
      this.#resume('throw', error)
      return
    }
    this.#settle((request) => request.resolve({ value: handedOut, done: false }))
  }

  #fail(result: IteratorResult<unknown>, error: unknown): void {
    if (result.done === true) this.#settle((request) => request.reject(error))
    else this.#resume('throw', error)
  }

  #settle(answer: (request: QueuedRequest) => void): void {
    const request = this.#queue.shift()
    if (request === undefined) return
    answer(request)
    const following = this.#queue[0]
    if (following !== undefined) runInContext(following.context, () => this.#resume(following.kind, following.argument))
  }
}

Object.defineProperty(LoweredAsyncGenerator.prototype, Symbol.toStringTag, { value: 'AsyncGenerator', configurable: true })

/** Turns a generator function into an async generator function. */
export function wrapAsyncGenerator(body: (...args: unknown[]) => Inner): (...args: unknown[]) => LoweredAsyncGenerator {
  return function (this: unknown, ...args) {
    return new LoweredAsyncGenerator(body.apply(this, args))
  }
}

/** Marks a value of `await` inside an async generator. */
export function awaitAsyncGenerator(value: unknown): InnerYield {
  return new InnerYield(value, false)
}

type AnyIterator = Record<ResumeKind, ((argument: unknown) => unknown) | undefined>

/** Makes `yield*` of an async iterator: each step is first awaited by the generator, then handed out. */
export function asyncGeneratorDelegate(inner: AnyIterator): Iterator<unknown> {
  let isWaiting = false
  const pump = (kind: ResumeKind, argument: unknown): IteratorResult<unknown> => {
    isWaiting = true
    const step = new Promise((resolve) => resolve(inner[kind]?.(argument)))
    return { done: false, value: new InnerYield(step, true) }
  }
  const pass = (kind: ResumeKind, onAnswer: (value: unknown) => unknown) => (argument: unknown) => {
    if (!isWaiting) return kind === 'throw' && typeof inner.throw !== 'function' ? refuseThrow() : pump(kind, argument)
    isWaiting = false
    return onAnswer(argument)
  }
  const fail = (error: unknown): never => {
    throw error
  }
  const refuseThrow = (): never => {
    inner.return?.(undefined)
    throw new TypeError('The iterator does not provide a throw method')
  }
  return {
    [Symbol.iterator]() {
      return this
    },
    next: pass('next', (value) => value),
    // Also without a method of that name: an error of the inner iterator itself comes this way.
    throw: pass('throw', fail),
    ...(typeof inner.return === 'function' ? { return: pass('return', (value) => value) } : {}),
  } as unknown as Iterator<unknown>
}

/** Returns the async iterator of a value; one of a plain iterable awaits the values (ECMA-262 27.1.4). */
export function asyncIterator(iterable: unknown): unknown {
  const source = Object(iterable) as Partial<AsyncIterable<unknown> & Iterable<unknown>>
  const async = source[Symbol.asyncIterator]
  if (async !== undefined && async !== null) return async.call(iterable as AsyncIterable<unknown>)
  const sync = source[Symbol.iterator]
  if (sync === undefined || sync === null) throw new TypeError('Object is not async iterable')
  return asyncFromSync(sync.call(iterable as Iterable<unknown>))
}

function asyncFromSync(iterator: Iterator<unknown>): AsyncIterator<unknown> {
  const awaited = (step: IteratorResult<unknown>, closeOnError: boolean): Promise<IteratorResult<unknown>> =>
    Promise.resolve(step.value).then(
      (value) => ({ value, done: step.done === true }),
      (error) => {
        if (closeOnError && step.done !== true) iterator.return?.()
        throw error
      },
    )
  const attempt = (run: () => Promise<IteratorResult<unknown>>) =>
    new Promise<IteratorResult<unknown>>((resolve) => resolve(run()))
  return {
    next: (value) => attempt(() => awaited(iterator.next(value), true)),
    return: (value) =>
      attempt(() =>
        iterator.return === undefined ? awaited({ value, done: true }, false) : awaited(iterator.return(value), false),
      ),
    throw: (error) =>
      attempt(() => {
        if (iterator.throw !== undefined) return awaited(iterator.throw(error), true)
        iterator.return?.()
        throw new TypeError('The iterator does not provide a throw method')
      }),
  }
}
