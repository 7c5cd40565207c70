import { guard, messageOf } from '@svc/core'
import type { EmittedFacts } from '@svc/guest'
import { type CacheFacts, cacheFacts, type MiddlewareVerdict, middlewareVerdict, type RenderHead } from '@svc/protocol'
import { RenderError } from '../errors/errors.ts'

/** Longest head of a response, or verdict of middleware, that is taken from an isolate. */
const MAX_HEAD_CHARS = 256 * 1024

const pair: guard.Guard<[name: string, value: string]> = (value, path = 'field') => {
  const [name, text] = guard.arrayOf(guard.string)(value, path)
  return [guard.string(name, `${path}[0]`), guard.string(text, `${path}[1]`)]
}
const pairs = guard.arrayOf(pair)
const headWithFacts = guard.object({ status: guard.number, headers: pairs, facts: guard.optional(cacheFacts) })
const verdictWithFacts = guard.object({
  action: guard.anything,
  requestHeaders: guard.optional(pairs),
  responseHeaders: guard.optional(pairs),
  facts: guard.optional(cacheFacts),
})
const inspectedFacts = guard.object({ modules: guard.optional(guard.recordOf(guard.recordOf(guard.anything))) })

/**
 * Reads what an isolate has emitted. The guest writes it, but in one realm with the code of a site, which may have replaced
 * `JSON.stringify` or anything else it is made with: it is not to be trusted, and no process may fall over it.
 * @throws RENDER_FAILED
 */
function read<T>(json: unknown, what: string, check: guard.Guard<T>): T {
  try {
    const text = guard.string(json, what)
    if (text.length > MAX_HEAD_CHARS && what !== 'facts') throw new RangeError(`it has more than ${MAX_HEAD_CHARS} characters`)
    return check(JSON.parse(text), what)
  } catch (error) {
    throw new RenderError('RENDER_FAILED', `the isolate sent invalid ${what}: ${messageOf(error)}`, { cause: error })
  }
}

function plainFacts({ reads, tags, revalidate }: CacheFacts): CacheFacts {
  return { reads, tags, revalidate }
}

/** Status and fields of a response, with the facts for the caches when it was complete at once. */
export function readHead(json: unknown): { readonly head: RenderHead; readonly cache: CacheFacts | undefined } {
  const { status, headers, facts } = read(json, 'head', headWithFacts)
  return { head: { status, headers }, cache: facts === undefined ? undefined : plainFacts(facts) }
}

/** The verdict of middleware. */
export function readVerdict(json: unknown): { readonly verdict: MiddlewareVerdict; readonly cache: CacheFacts | undefined } {
  const checked = read(json, 'verdict', (value, path) => ({
    ...middlewareVerdict(value, path),
    facts: verdictWithFacts(value, path).facts,
  }))
  const { facts, ...verdict } = checked
  return { verdict, cache: facts === undefined ? undefined : plainFacts(facts) }
}

/** Facts at the end of a stream. */
export function readFacts(json: unknown): CacheFacts {
  return plainFacts(read(json, 'facts', cacheFacts))
}

/** Config exports of modules that were looked at. */
export function readModules(json: unknown): NonNullable<EmittedFacts['modules']> {
  return read(json, 'facts', inspectedFacts).modules ?? {}
}
