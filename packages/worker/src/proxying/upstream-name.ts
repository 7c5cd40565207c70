type Scheme = 'http' | 'https'

const USUAL_PORTS: Readonly<Record<Scheme, string>> = { http: ':80', https: ':443' }

/** `$proxy_host`, and the Host field where none is set: without the port that the scheme has anyway. A socket is called localhost. */
export function proxyHost(host: string, scheme: Scheme): string {
  if (host.startsWith('unix:')) return 'localhost'
  const usual = USUAL_PORTS[scheme]
  return host.endsWith(usual) ? host.slice(0, -usual.length) : host
}

/**
 * `$proxy_port` where it is not the one in `$proxy_host`, else 80.
 * @param name of the upstream group
 */
export function proxyPort(host: string, name: string, scheme: Scheme): string | undefined {
  if (name.startsWith('unix:')) return ''
  return scheme === 'https' && !/:\d+$/.test(host) ? '443' : undefined
}
