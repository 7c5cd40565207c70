import type { TokenClaims } from '@svc/auth'
import type { Revocations } from '@svc/protocol'

/** The revoked tokens of the instance, as the master has told this worker. Forgets those that have expired. */
export class RevocationList {
  readonly #tokens = new Map<string, number>()
  readonly #users = new Map<string, number>()
  #issuedBefore = 0
  /** Called after each addition. */
  readonly listeners = new Set<() => void>()

  /** @param nowMs wall clock */
  add({ tokens, users, issuedBefore }: Revocations, nowMs: number): void {
    for (const [jti, expiresAt] of this.#tokens) if (expiresAt <= nowMs) this.#tokens.delete(jti)
    for (const { jti, expiresAt } of tokens) this.#tokens.set(jti, expiresAt)
    for (const { username, issuedBefore: limit } of users) this.#users.set(username, limit)
    this.#issuedBefore = Math.max(this.#issuedBefore, issuedBefore)
    for (const listener of this.listeners) listener()
  }

  isRevoked({ jti, username, issuedAt }: Pick<TokenClaims, 'jti' | 'username' | 'issuedAt'>): boolean {
    return this.#tokens.has(jti) || issuedAt < Math.max(this.#issuedBefore, this.#users.get(username) ?? 0)
  }
}
