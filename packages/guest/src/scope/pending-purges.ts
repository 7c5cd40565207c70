import { callHostOnce } from '../host/host-calls.ts'
import { logUncaught } from '../host/site-log.ts'
import type { GuestRequest } from '../request/guest-request.ts'
import { controlFlowOf } from './control-flow.ts'
import type { RequestScope } from './request-scope.ts'
import { RouterError } from './router-error.ts'

/** A path to purge: one path, or with a type the pattern of a page, or of a layout with all below it. */
interface PathPurge {
  readonly path: string
  readonly type?: 'layout' | 'page'
}

/** More different tags and paths in one request are refused. */
const MAX_PURGES = 1_000

/** The purges of one request: sent together, before its answer or before it reads purged data. */
class PendingPurges {
  #tags = new Set<string>()
  #paths = new Map<string, PathPurge>()
  #sent: Promise<unknown> = Promise.resolve()
  #isScheduled = false

  addTag(scope: RequestScope, tag: string): void {
    this.#check()
    this.#tags.add(tag)
    this.#schedule(scope)
  }

  addPath(scope: RequestScope, purge: PathPurge): void {
    this.#check()
    this.#paths.set(JSON.stringify(purge), purge)
    this.#schedule(scope)
  }

  /** Resolves when all purges so far have taken effect. Throws ROUTER_PURGE_FAILED when one has not. */
  flush(): Promise<unknown> {
    if (this.#tags.size + this.#paths.size === 0) return this.#sent
    const order = { tags: [...this.#tags], paths: [...this.#paths.values()] }
    this.#tags = new Set()
    this.#paths = new Map()
    const done = callHostOnce('purge', order, undefined).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      throw new RouterError('ROUTER_PURGE_FAILED', `revalidateTag() or revalidatePath() could not be carried out: ${why}`)
    })
    this.#sent = Promise.all([this.#sent, done])
    // A caller that waits gets the error; without one it is logged where the purge was scheduled.
    this.#sent.catch(() => undefined)
    return this.#sent
  }

  #check(): void {
    if (this.#tags.size + this.#paths.size < MAX_PURGES) return
    throw new RouterError('ROUTER_MISUSE', `One request purges at most ${MAX_PURGES} tags and paths. Purge a layout instead.`)
  }

  /** Purges of code that runs after the response: the router has already sent its own, so they go out here. */
  #schedule(scope: RequestScope): void {
    if (this.#isScheduled || !(scope.isAnswered || scope.guest.answer.isEnded)) return
    this.#isScheduled = true
    // Those of one turn go together.
    Promise.resolve()
      .then(() => {
        this.#isScheduled = false
        return this.flush()
      })
      .catch((error: unknown) => logUncaught(error, 'after the answer'))
  }
}

const purgesKey = Symbol('purges')

/** The purges of a request, made when the first is asked for. */
export function purgesOf(guest: GuestRequest): PendingPurges {
  const known = guest.locals.get(purgesKey) as PendingPurges | undefined
  if (known !== undefined) return known
  const made = new PendingPurges()
  guest.locals.set(purgesKey, made)
  return made
}

/** Carries out the purges of the request so far; undefined: there are none. */
export function flushPurges(guest: GuestRequest): Promise<unknown> | undefined {
  return (guest.locals.get(purgesKey) as PendingPurges | undefined)?.flush()
}

/**
 * Called before the first byte of an answer: everything purged so far takes effect first. undefined: there is nothing to
 * wait for. Rejects with ROUTER_PURGE_FAILED.
 */
export function purgeBeforeAnswer(scope: RequestScope): Promise<unknown> | undefined {
  scope.isAnswered = true
  return flushPurges(scope.guest)
}

/**
 * Called when code of the site threw: its purges until then take effect all the same. Returns the error to answer with: a
 * redirect must not hide that a purge has failed.
 */
export async function purgeBeforeFailure(scope: RequestScope, error: unknown): Promise<unknown> {
  try {
    await purgeBeforeAnswer(scope)
    return error
  } catch (purgeError) {
    return controlFlowOf(error) === undefined ? error : purgeError
  }
}
