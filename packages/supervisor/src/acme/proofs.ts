import type { AcmeProof } from '@svc/protocol'

/** The workers' responses to the authority's proof requests while an order is open. */
export class Proofs {
  readonly #open = new Map<string, string>()
  readonly #tell: (proofs: readonly AcmeProof[]) => Promise<void>

  /** @param tell resolves when every worker has them */
  constructor(tell: (proofs: readonly AcmeProof[]) => Promise<void>) {
    this.#tell = tell
  }

  get all(): AcmeProof[] {
    return Array.from(this.#open, ([token, proof]) => ({ token, proof }))
  }

  /** Resolves when every worker responds with the proof. */
  async publish(token: string, proof: string): Promise<void> {
    this.#open.set(token, proof)
    await this.#tell(this.all)
  }

  async withdraw(token: string): Promise<void> {
    if (this.#open.delete(token)) await this.#tell(this.all)
  }
}
