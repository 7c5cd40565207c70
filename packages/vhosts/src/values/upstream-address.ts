import { isIP } from 'node:net'

/** An address to connect to, or what is wrong with it. */
type ReadUpstreamAddress = { readonly address: string; readonly hasPort: boolean } | { readonly error: string }

/** Of the path of a socket, as the system takes it (`sun_path`, without its final zero). */
const MAX_SOCKET_BYTES = 107
const pattern = /^(\[[^\]]*\]|[^:[\]]*)(?::(.*))?$/

/** Returns true for a path that the system takes for no socket. */
export function isTooLongForSocket(path: string): boolean {
  return Buffer.byteLength(path) > MAX_SOCKET_BYTES
}

/**
 * Reads `host`, `host:port`, `[v6]:port` or `unix:/path`.
 * @param defaultPort port where none is written; 0: one must be written
 */
export function readUpstreamAddress(text: string, defaultPort: number): ReadUpstreamAddress {
  if (text.startsWith('unix:')) {
    if (text === 'unix:') return { error: 'no path in the unix domain socket' }
    return isTooLongForSocket(text.slice('unix:'.length))
      ? { error: 'too long path in the unix domain socket' }
      : { address: text, hasPort: true }
  }
  const [, host = '', digits] = pattern.exec(text) ?? []
  if (host === '') return { error: 'no host' }
  if (host.startsWith('[') ? isIP(host.slice(1, -1)) !== 6 : !/^[A-Za-z0-9_.-]+$/.test(host)) return { error: 'invalid host' }
  if (digits === undefined)
    return defaultPort === 0 ? { error: 'no port' } : { address: `${host.toLowerCase()}:${defaultPort}`, hasPort: false }
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0
  return port < 1 || port > 65_535 ? { error: 'invalid port' } : { address: `${host.toLowerCase()}:${port}`, hasPort: true }
}
