import type { HeaderList } from '@svc/http'
import type { AccessCheck, CheckedRequest, Refused, Verdict } from './access-checks.ts'

/** Makes the checks of a location one after the other. With `satisfy any` the first that passes is enough. */
export function checkAccess(
  request: CheckedRequest,
  checks: readonly AccessCheck[],
  isOneEnough: boolean,
): AccessResult | Promise<AccessResult> {
  return new AccessPhase(request, checks, isOneEnough).from(0)
}

type AccessResult = 'passed' | Refused

class AccessPhase {
  readonly #request: CheckedRequest
  readonly #checks: readonly AccessCheck[]
  readonly #isOneEnough: boolean
  #refused: Refused | undefined

  constructor(request: CheckedRequest, checks: readonly AccessCheck[], isOneEnough: boolean) {
    this.#request = request
    this.#checks = checks
    this.#isOneEnough = isOneEnough
  }

  from(start: number): AccessResult | Promise<AccessResult> {
    for (let index = start; index < this.#checks.length; index++) {
      const verdict = this.#checks[index]?.(this.#request) ?? 'declined'
      if (verdict instanceof Promise) return verdict.then((settled) => this.#settle(settled) ?? this.from(index + 1))
      const ended = this.#settle(verdict)
      if (ended !== undefined) return ended
    }
    return this.#refused ?? 'passed'
  }

  /** Undefined: the next check goes on. */
  #settle(verdict: Verdict): AccessResult | undefined {
    if (verdict === 'declined') return undefined
    if (verdict === 'passed') return this.#isOneEnough ? 'passed' : undefined
    const { status } = verdict
    const headers: HeaderList = [...(this.#refused?.headers ?? []), ...verdict.headers]
    if (!this.#isOneEnough || (status !== 401 && status !== 403)) return { status, headers }
    // A client that could authenticate learns that.
    this.#refused = { status: this.#refused?.status === 401 ? 401 : status, headers }
    return undefined
  }
}
