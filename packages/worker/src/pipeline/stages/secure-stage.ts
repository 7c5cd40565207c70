import type { RequestContext } from '../../request/request-context.ts'
import type { Stage, StageResult } from '../../request/stage.ts'

/** Proof of control over a host is requested with plain HTTP (RFC 8555 section 8.3). */
const PROOF_PREFIX = '/.well-known/acme-challenge/'

/** Sends clients that ask with plain HTTP for a host that has a certificate to https, where `tls.redirect_http` says so. */
export class SecureStage implements Stage {
  readonly name = 'secure'

  run(context: RequestContext): StageResult {
    const { client, generation, exchange } = context
    if (!generation.config.tls.redirect_http || client.scheme === 'https') return 'next'
    const { target, path } = exchange.request
    if (path.startsWith(PROOF_PREFIX)) return 'next'
    const origin = generation.secureHosts.originOf(client.host)
    if (origin === undefined) return 'next'
    context.respond({ status: 308, headers: [['location', `${origin}${target}`]] })
    return 'answered'
  }
}

const PREFIX = '/.well-known/acme-challenge/'

/** Answers a certificate authority that checks if a host is ours (RFC 8555 section 8.3), while an order is open. */
export class ProofStage implements Stage {
  readonly name = 'proof'
  readonly #proofs: ReadonlyMap<string, string>

  /** @param proofs by token; may change */
  constructor(proofs: ReadonlyMap<string, string>) {
    this.#proofs = proofs
  }

  run(context: RequestContext): StageResult {
    if (this.#proofs.size === 0) return 'next'
    const { method, path } = context.request
    if (!path.startsWith(PREFIX) || (method !== 'GET' && method !== 'HEAD')) return 'next'
    const proof = this.#proofs.get(path.slice(PREFIX.length))
    // Another program may prove the same host by files of the site.
    if (proof === undefined) return 'next'
    context.pathGroup = 'builtin'
    context.withdrawFromL0()
    const headers = [
      ['content-type', 'application/octet-stream'],
      ['cache-control', 'no-store'],
    ] as const
    context.respond({ status: 200, headers }, Buffer.from(proof))
    return 'answered'
  }
}
