import type { Revocations } from './authenticator.ts'

/** The revoked tokens of the instance, as the master has told this worker. */
export class RevocationList implements Revocations {
  #ids: ReadonlySet<string> = new Set()
  #issuedBefore = 0

  /** @param issuedBefore all tokens from before this time are revoked, in milliseconds since the epoch */
  replace(ids: Iterable<string>, issuedBefore: number): void {
    this.#ids = new Set(ids)
    this.#issuedBefore = issuedBefore
  }

  isRevoked(jti: string, issuedAt: number): boolean {
    return issuedAt < this.#issuedBefore || this.#ids.has(jti)
  }
}
