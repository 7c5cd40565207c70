import type { AcmeProof } from '@svc/protocol'

/** What the workers answer to those who ask whether a host is ours, while an order is open. */
export class Proofs {
  readonly #open = new Map<string, string>()
  readonly #tell: (proofs: readonly AcmeProof[]) => Promise<void>

  /** @param tell resolves when every worker has taken them */
  constructor(tell: (proofs: readonly AcmeProof[]) => Promise<void>) {
    this.#tell = tell
  }

  get all(): AcmeProof[] {
    return Array.from(this.#open, ([token, proof]) => ({ token, proof }))
  }

  /** Resolves when every worker answers so. */
  async publish(token: string, proof: string): Promise<void> {
    this.#open.set(token, proof)
    await this.#tell(this.all)
  }

  async withdraw(token: string): Promise<void> {
    if (this.#open.delete(token)) await this.#tell(this.all)
  }
}
