import { RedisError } from './errors/errors.ts'

/** A server by host name and port. */
interface RedisNode {
  readonly host: string
  readonly port: number
}

/** The options that all connections of an address share. */
interface Access {
  readonly username: string | undefined
  readonly password: string | undefined
  readonly db: number
  readonly isTls: boolean
}

/** Where Redis is. */
export type RedisAddress = Access &
  (
    | { readonly kind: 'server'; readonly node: RedisNode }
    | { readonly kind: 'socket'; readonly path: string }
    | { readonly kind: 'cluster'; readonly nodes: readonly RedisNode[] }
    | { readonly kind: 'sentinel'; readonly sentinels: readonly RedisNode[]; readonly name: string }
  )

const PORT = 6379
const SENTINEL_PORT = 26_379
const FORMS =
  'redis://, rediss://, unix:///path, redis-sentinel://host:port,host:port/name, or a comma-separated list of cluster nodes'

/**
 * Reads `redis.url`. A socket with a password is `unix://:password@localhost/path`. User, password and TLS of a list are those of its first node.
 * @throws REDIS_BAD_URL without the address, which may hold a password
 */
export function parseRedisUrl(text: string): RedisAddress {
  if (/^redis-sentinel:/i.test(text)) return sentinelAddress(text)
  const [first = '', ...rest] = text.split(',').map((node) => node.trim())
  const url = urlOf(first)
  if (url.protocol === 'unix:') {
    if (rest.length > 0 || url.pathname === '' || !['', 'localhost'].includes(url.hostname)) throw bad()
    return { kind: 'socket', path: decodeURIComponent(url.pathname), ...accessOf(url, url.searchParams.get('db') ?? '') }
  }
  const access = accessOf(url, url.pathname.slice(1))
  if (rest.length === 0) return { kind: 'server', node: nodeOf(url, PORT), ...access }
  return { kind: 'cluster', nodes: [url, ...rest.map(urlOf)].map((node) => nodeOf(node, PORT)), ...access }
}

/** `URL` takes one host only: the others are read apart. */
function sentinelAddress(text: string): RedisAddress {
  const parts = /^redis-sentinel:\/\/(?:([^@/]*)@)?([^@/]+)\/([^/]+)(?:\/(\d+))?$/i.exec(text)
  if (parts === null) throw bad()
  const [, credentials = '', hosts = '', name = '', db = ''] = parts
  const url = urlOf(`redis://${credentials === '' ? '' : `${credentials}@`}any`)
  const sentinels = hosts.split(',').map((host) => nodeOf(urlOf(host.trim()), SENTINEL_PORT))
  return { kind: 'sentinel', sentinels, name: decodeURIComponent(name), ...accessOf(url, db) }
}

function urlOf(text: string): URL {
  const url = URL.parse(text.includes('://') ? text : `redis://${text}`)
  if (url === null || !['redis:', 'rediss:', 'unix:'].includes(url.protocol)) throw bad()
  return url
}

function nodeOf({ hostname, port }: URL, defaultPort: number): RedisNode {
  if (hostname === '') throw bad()
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) }
}

function accessOf({ username, password, protocol }: URL, db: string): Access {
  if (!/^\d{0,4}$/.test(db)) throw bad()
  return {
    username: username === '' ? undefined : decodeURIComponent(username),
    password: password === '' ? undefined : decodeURIComponent(password),
    db: Number(db),
    isTls: protocol === 'rediss:',
  }
}

function bad(): RedisError {
  return new RedisError('REDIS_BAD_URL', `invalid address of Redis; expected ${FORMS}`)
}
