import type { RequestContext } from '../../request/request-context.ts'
import type { Stage, StageResult } from '../../request/stage.ts'

/** Proof of who has a host is asked for with plain HTTP (RFC 8555 section 8.3). */
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
