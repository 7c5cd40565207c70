import { isIP } from 'node:net'

/** An address to connect to, or what is wrong with it. */
export type ReadUpstreamAddress = { readonly address: string; readonly hasPort: boolean } | { readonly error: string }

const pattern = /^(\[[^\]]*\]|[^:[\]]*)(?::(.*))?$/

/**
 * Reads `host`, `host:port`, `[v6]:port` or `unix:/path`.
 * @param defaultPort port where none is written; 0: one must be written
 */
export function readUpstreamAddress(text: string, defaultPort: number): ReadUpstreamAddress {
  if (text.startsWith('unix:'))
    return text === 'unix:' ? { error: 'no path in the unix domain socket' } : { address: text, hasPort: true }
  const [, host = '', digits] = pattern.exec(text) ?? []
  if (host === '') return { error: 'no host' }
  if (host.startsWith('[') ? isIP(host.slice(1, -1)) !== 6 : !/^[A-Za-z0-9_.-]+$/.test(host)) return { error: 'invalid host' }
  if (digits === undefined)
    return defaultPort === 0 ? { error: 'no port' } : { address: `${host.toLowerCase()}:${defaultPort}`, hasPort: false }
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0
  return port < 1 || port > 65_535 ? { error: 'invalid port' } : { address: `${host.toLowerCase()}:${port}`, hasPort: true }
}
