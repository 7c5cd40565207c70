/** The name sent to an upstream in its TLS handshake (SNI); always sent, unlike with nginx; undefined: it has an address alone. */
export function serverNameOf(host: string): string | undefined {
  const name = /^[^:[\]/]+/.exec(host)?.[0]
  return name === undefined || /^[\d.]+$/.test(name) || name === 'unix' ? undefined : name
}
