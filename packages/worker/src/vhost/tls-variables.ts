import type { ClientCertificate, TlsFacts } from '@svc/http'
import { own, type RequestVariable } from './variable-input.ts'

/** Reads a fact of the TLS session; "" without TLS, and where the engine does not know it. */
const ofTls = (read: (facts: TlsFacts) => string): RequestVariable =>
  own(({ context }) => {
    const facts = context.exchange.request.connection?.tls
    return facts === undefined ? '' : read(facts)
  })

const never = own(() => '')

const DAY_MS = 24 * 3_600_000

/** Reads the certificate of the client; "" without one. */
const ofClient = (read: (client: ClientCertificate) => string): RequestVariable =>
  own(({ context }) => {
    const client = context.exchange.request.connection?.tls?.client
    return client === undefined ? '' : read(client)
  })

function escaped(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`
}

/** Writes a name as RFC 2253 says: the last part first, other characters than ASCII as the bytes of UTF-8. */
function distinguishedName(lines: string): string {
  const name = lines.split('\n').reverse().join(',')
  return name.replaceAll(/[^\x20-\x7e]/gu, (char) =>
    [...Buffer.from(char)].map((byte) => `\\${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  )
}

/** Writes a name as OpenSSL did before. */
function legacyName(lines: string): string {
  return `/${lines.replaceAll(/\\(.)/g, '$1').split('\n').join('/')}`
}

/** Variables of the TLS session. The server takes no early data. */
export const tlsVariables: Readonly<Record<string, RequestVariable>> = {
  ssl_alpn_protocol: ofTls(({ applicationProtocol }) => applicationProtocol),
  ssl_cipher: ofTls(({ cipher }) => cipher),
  ssl_client_cert: ofClient(({ pem }) => pem.trimEnd().replaceAll('\n', '\n\t')),
  ssl_client_escaped_cert: ofClient(({ pem }) => encodeURIComponent(pem).replaceAll(/[!'()*]/g, escaped)),
  ssl_client_fingerprint: ofClient(({ fingerprint }) => fingerprint.replaceAll(':', '').toLowerCase()),
  ssl_client_i_dn: ofClient(({ issuer }) => distinguishedName(issuer)),
  ssl_client_i_dn_legacy: ofClient(({ issuer }) => legacyName(issuer)),
  ssl_client_raw_cert: ofClient(({ pem }) => pem),
  ssl_client_s_dn: ofClient(({ subject }) => distinguishedName(subject)),
  ssl_client_s_dn_legacy: ofClient(({ subject }) => legacyName(subject)),
  ssl_client_serial: ofClient(({ serial }) => serial),
  ssl_client_v_end: ofClient(({ validTo }) => validTo),
  ssl_client_v_remain: ofClient(({ validTo }) => `${Math.max(0, Math.floor((Date.parse(validTo) - Date.now()) / DAY_MS))}`),
  ssl_client_v_start: ofClient(({ validFrom }) => validFrom),
  ssl_client_verify: own(({ context: { exchange } }) => {
    if (exchange.request.scheme !== 'https') return ''
    return exchange.request.connection?.tls?.client?.verify ?? 'NONE'
  }),
  ssl_early_data: never,
  ssl_protocol: ofTls(({ protocol }) => protocol),
  ssl_server_name: own(({ context }) => context.exchange.request.serverName ?? ''),
  ssl_session_reused: ofTls(({ isResumed }) => (isResumed ? 'r' : '.')),
}
