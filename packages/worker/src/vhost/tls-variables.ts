import type { TlsFacts } from '@svc/http'
import { own, type RequestVariable } from './variable-input.ts'

/** Reads a fact of the TLS session; "" without TLS, and where the engine does not know it. */
const ofTls = (read: (facts: TlsFacts) => string): RequestVariable =>
  own(({ context }) => {
    const facts = context.exchange.request.connection?.tls
    return facts === undefined ? '' : read(facts)
  })

const never = own(() => '')

/** Variables of the TLS session. The server requests no certificate of its client and takes no early data. */
export const tlsVariables: Readonly<Record<string, RequestVariable>> = {
  ssl_alpn_protocol: ofTls(({ applicationProtocol }) => applicationProtocol),
  ssl_cipher: ofTls(({ cipher }) => cipher),
  ssl_client_cert: never,
  ssl_client_escaped_cert: never,
  ssl_client_fingerprint: never,
  ssl_client_i_dn: never,
  ssl_client_i_dn_legacy: never,
  ssl_client_raw_cert: never,
  ssl_client_s_dn: never,
  ssl_client_s_dn_legacy: never,
  ssl_client_serial: never,
  ssl_client_v_end: never,
  ssl_client_v_remain: never,
  ssl_client_v_start: never,
  ssl_client_verify: own(({ context }) => (context.exchange.request.scheme === 'https' ? 'NONE' : '')),
  ssl_early_data: never,
  ssl_protocol: ofTls(({ protocol }) => protocol),
  ssl_server_name: own(({ context }) => context.exchange.request.serverName ?? ''),
  ssl_session_reused: ofTls(({ isResumed }) => (isResumed ? 'r' : '.')),
}
