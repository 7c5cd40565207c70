import { isIP } from 'node:net'
import type { ListenSpec, UpstreamSpec } from '../spec/spec.ts'

/** A `listen` as it was read, with its notices, or its mistake. */
type ReadListen =
  | { readonly listen: ListenSpec; readonly isHttp2: boolean; readonly ignored: readonly string[] }
  | { readonly error: string; readonly index: number; readonly hint?: string }

/** As `real_ip_header`: the address is that of the PROXY protocol. No field has this name. */
export const PROXY_PROTOCOL = 'proxy_protocol'

const DEFAULT_PORT = 80
const IGNORED =
  /^(?:spdy|reuseport|deferred|bind|(?:backlog|setfib|fastopen)=\d+|(?:rcvbuf|sndbuf)=\d+[km]?|(?:accept_filter|so_keepalive)=.+|ipv6only=(?:on|off))$/

function portOf(digits: string | undefined): number | undefined {
  if (digits === undefined) return DEFAULT_PORT
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : Number.NaN
  return port <= 65_535 ? port : undefined
}

/** Names a TCP address as all that share it do: `0.0.0.0:80`, `[::]:80`. IPv6 in its shortest form (RFC 5952). */
export function addressName(host: string, port: number): string {
  if (isIP(host) === 6) return `${new URL(`http://[${host}]/`).hostname}:${port}`
  const name = host.toLowerCase()
  return `${name === '*' ? '0.0.0.0' : name === 'localhost' ? '127.0.0.1' : name}:${port}`
}

function readAddress(text: string): string | { readonly error: string; readonly hint?: string } {
  if (text.startsWith('unix:')) {
    if (!text.startsWith('unix:/'))
      return { error: `invalid path in "${text}" of the "listen" directive`, hint: 'an absolute path must follow "unix:"' }
    return text
  }
  const [, bracketed, plain = '', digits] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(.*))?$/.exec(text) ?? []
  const isPortAlone = bracketed === undefined && digits === undefined && /^\d+$/.test(plain)
  const host = isPortAlone ? '*' : (bracketed ?? plain)
  const port = portOf(isPortAlone ? plain : digits)
  const isHost =
    bracketed === undefined ? host === '*' || isIP(host) === 4 || /^(?=.*[a-z])[a-z0-9_.-]+$/i.test(host) : isIP(host) === 6
  if (/^\d+-\d+$/.test(digits ?? plain))
    return { error: `ranges of ports are not supported in "${text}" of the "listen" directive` }
  if (port === undefined) return { error: `invalid port in "${text}" of the "listen" directive` }
  if (!isHost) return { error: `${host === '' ? 'no host' : 'host not found'} in "${text}" of the "listen" directive` }
  return addressName(host, port)
}

/** Reads the arguments of `listen`. */
export function readListen(args: readonly string[]): ReadListen {
  const address = readAddress(args[0] ?? '')
  if (typeof address !== 'string') return { ...address, index: 0 }
  let isTls = false
  let isDefault = false
  let isHttp2 = false
  let isProxied = false
  const ignored: string[] = []
  for (const [at, text] of args.slice(1).entries()) {
    const index = at + 1
    if (text === 'ssl') isTls = true
    else if (text === 'http2') isHttp2 = true
    else if (text === 'proxy_protocol') isProxied = true
    else if (text === 'default_server' || text === 'default') isDefault = true
    else if (IGNORED.test(text)) ignored.push(text.split('=')[0] ?? text)
    else if (text === 'quic')
      return { error: '"quic" is not supported in the "listen" directive', index, hint: 'remove the line: HTTP/3 is not spoken' }
    else return { error: `invalid parameter "${text}" in "listen" directive`, index }
  }
  return { listen: { address, isTls, isDefault, ...(isProxied && { isProxied }) }, isHttp2, ignored }
}

/** An address to connect to, or its mistake. */
type ReadUpstreamAddress = { readonly address: string } | { readonly error: string }

/** Of the path of a socket, as the system takes it (`sun_path`, without its final zero). */
const MAX_SOCKET_BYTES = 107

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
      : { address: text }
  }
  const [, host = '', digits] = /^(\[[^\]]*\]|[^:[\]]*)(?::(.*))?$/.exec(text) ?? []
  if (host === '') return { error: 'no host' }
  if (host.startsWith('[') ? isIP(host.slice(1, -1)) !== 6 : !/^[A-Za-z0-9_.-]+$/.test(host)) return { error: 'invalid host' }
  if (digits === undefined) return defaultPort === 0 ? { error: 'no port' } : { address: `${host.toLowerCase()}:${defaultPort}` }
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0
  return port < 1 || port > 65_535 ? { error: 'invalid port' } : { address: `${host.toLowerCase()}:${port}` }
}

/** A server of which nothing but the address is said. */
export const PLAIN_SERVER = { weight: 1, maxFails: 1, failTimeoutMs: 10_000, isBackup: false, isDown: false } as const

/** The group of a server that is named directly: its name is the address. */
export function directUpstream(address: string): UpstreamSpec {
  return { name: address, balance: 'round_robin', keepalive: undefined, servers: [{ address, ...PLAIN_SERVER }] }
}
