import type { Config } from '../schema/types.ts'
import { type Finding, findingIf } from '../values/finding.ts'
import { parseListenAddress } from '../values/listen-address.ts'

/** Opened only if nothing else names an address: then it is free for TLS. */
const DEFAULT_LISTEN = '127.0.0.1:8080'

function checkSitePair(site: Config['sites'][number], index: number): Finding[] {
  const hasCert = site.tls_cert !== undefined
  const hasKey = site.tls_key !== undefined
  return [
    ...findingIf(hasCert && !hasKey, ['sites', index, 'tls_cert'], 'needs tls_key'),
    ...findingIf(hasKey && !hasCert, ['sites', index, 'tls_key'], 'needs tls_cert'),
  ]
}

/** Checks what TLS settings need of each other and of the engine. */
export function checkTls({ server, tls, sites }: Config): Finding[] {
  const hasCertificates = tls.auto || tls.certs.length > 0 || server.vhosts.length > 0 || sites.some((site) => site.tls_cert)
  const isFreePort = parseListenAddress(server.listen)?.port === 0
  const needsNode = tls.min_version === '1.3' && server.engine === 'uws'
  return [
    ...findingIf(
      server.listen_tls === server.listen && server.listen !== DEFAULT_LISTEN && !isFreePort,
      ['server', 'listen_tls'],
      'is the same address as server.listen',
    ),
    ...findingIf(needsNode, ['tls', 'min_version'], '"1.3" is not available on engine "uws"', 'set server.engine = "node"'),
    ...findingIf(
      server.listen_tls !== undefined && !hasCertificates,
      ['server', 'listen_tls'],
      'there is no certificate to serve',
      'set tls.certs, tls.auto or tls_cert and tls_key of a site',
    ),
    ...sites.flatMap(checkSitePair),
  ]
}
