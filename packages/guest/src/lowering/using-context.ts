interface Resource {
  readonly value: unknown
  readonly dispose: (() => unknown) | undefined
  readonly isAsync: boolean
}

interface UsingContext {
  /** The error that left the block, if one did; else this very object. */
  e: unknown
  u(value: unknown): unknown
  a(value: unknown): unknown
  d(): unknown
}

/** An error thrown while another one was being handled (ECMA-262 explicit resource management). */
function suppressed(error: unknown, before: unknown): Error {
  const Type = (globalThis as { SuppressedError?: new (error: unknown, suppressed: unknown) => Error }).SuppressedError
  if (Type !== undefined) return new Type(error, before)
  const made = new Error('An error was suppressed during disposal')
  made.name = 'SuppressedError'
  return Object.assign(made, { error, suppressed: before })
}

function disposerOf(value: object, isAsync: boolean): (() => unknown) | undefined {
  const bag = value as Record<symbol, unknown>
  const asyncOne = isAsync ? bag[Symbol.asyncDispose] : undefined
  const found = asyncOne ?? bag[Symbol.dispose]
  if (typeof found !== 'function') throw new TypeError('Property [Symbol.dispose] is not a function.')
  return () => {
    const answer: unknown = Reflect.apply(found, value, [])
    // The promise of a synchronous disposer is not waited for.
    return isAsync && asyncOne === undefined ? undefined : answer
  }
}

/** Runs a block's `using` and `await using` declarations; `d` disposes in reverse order and throws what went wrong. */
export function usingCtx(): UsingContext {
  const resources: Resource[] = []
  const none = {}
  const add = (value: unknown, isAsync: boolean) => {
    if (value === null || value === undefined) {
      if (isAsync) resources.push({ value, dispose: undefined, isAsync })
      return value
    }
    if (Object(value) !== value)
      throw new TypeError('using declarations can only be used with objects, functions, null, or undefined.')
    resources.push({ value, dispose: disposerOf(value as object, isAsync), isAsync })
    return value
  }
  return {
    e: none,
    u: (value) => add(value, false),
    a: (value) => add(value, true),
    d() {
      let failure = this.e
      const fail = (error: unknown) => {
        failure = failure === none ? error : suppressed(error, failure)
      }
      const next = (): unknown => {
        for (let resource = resources.pop(); resource !== undefined; resource = resources.pop()) {
          try {
            const answer = resource.dispose?.()
            if (resource.isAsync) return Promise.resolve(answer).catch(fail).then(next)
          } catch (error) {
            fail(error)
          }
        }
        if (failure !== none) throw failure
        return undefined
      }
      return next()
    },
  }
}
