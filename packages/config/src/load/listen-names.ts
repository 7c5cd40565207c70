import { addressName, defaultServer, type EngineName, type WebSpec } from '@svc/vhosts'
import type { Config } from '../schema/types.ts'
import { doAddressesOverlap, parseListenAddress } from '../values/addresses.ts'
import type { Finding } from '../values/finding.ts'

/** Ends the names of own addresses whose port is chosen by the system: another address with port 0 is another address. */
const FREE_PORT_ENDINGS = { plain: '#plain', tls: '#tls' } as const

/** An address to listen on, by its name. */
export interface ListenName {
  /** `host:port`, `[v6]:port` or `unix:/path`; with port 0 there may be an ending, see `addressOfListenName`. */
  readonly name: string
  readonly isTls: boolean
  /** Engine that a vhost file names for it; absent: that of the configuration. */
  readonly engine?: EngineName
  /** Connections begin with a header of the PROXY protocol. */
  readonly isProxied?: true
}

/** The engine that serves an address. */
export function engineOf(
  { isTls, engine }: Pick<ListenName, 'isTls' | 'engine'>,
  { server }: Pick<Config, 'server'>,
): EngineName {
  return engine ?? (isTls ? server.engine_tls : server.engine)
}

/** The address in the name of one: two with port 0 have names of their own. */
export function addressOfListenName(name: string): string {
  const ending = Object.values(FREE_PORT_ENDINGS).find((one) => name.endsWith(`:0${one}`))
  return ending === undefined ? name : name.slice(0, -ending.length)
}

/** Returns the name that vhost files would give an address of the config file, so that the two are one. */
function sameInVhosts(name: string): string {
  const address = parseListenAddress(name)
  if (address === undefined || address.port === 0) return name
  return addressName(address.host, address.port)
}

/** Does not depend on whether the other own address is there: a reload may add or remove that one. */
function freePortName(name: string, isTls: boolean, isTaken: boolean): string {
  if (isTls) return name + FREE_PORT_ENDINGS.tls
  return isTaken ? name + FREE_PORT_ENDINGS.plain : name
}

/**
 * Lists the addresses that a configuration names, each once. The default of `server.listen` is opened only if there is no
 * other.
 * @param isListenGiven whether `server.listen` is written somewhere
 */
export function listenNames({ server }: Config, web: WebSpec, isListenGiven: boolean): ListenName[] {
  const names = new Map<string, boolean>()
  for (const { listen } of web.servers) {
    for (const { address, isTls } of listen) names.set(address, isTls || names.get(address) === true)
  }
  const own: ListenName[] = []
  const add = (name: string, isTls: boolean) => {
    const shared = names.get(sameInVhosts(name))
    if (parseListenAddress(name)?.port === 0) {
      if (shared !== isTls) own.push({ name: freePortName(name, isTls, shared !== undefined), isTls })
    } else if (shared === undefined) own.push({ name, isTls })
    else names.set(sameInVhosts(name), shared || isTls)
  }
  const isAlone = names.size === 0 && server.listen_tls === undefined
  if (isListenGiven || isAlone) add(server.listen, false)
  if (server.listen_tls !== undefined) add(server.listen_tls, true)
  const engines = new Map(
    web.servers.flatMap(({ listen }) => listen.flatMap(({ address, engine }) => (engine ? [[address, engine]] : []))),
  )
  // As in nginx, one server with `proxy_protocol` speaks for all that share its address.
  const proxied = new Set(
    web.servers.flatMap(({ listen }) => listen.flatMap(({ address, isProxied }) => (isProxied ? [address] : []))),
  )
  const ofVhosts = Array.from(names, ([name, isTls]): ListenName => {
    const engine = engines.get(name)
    return { name, isTls, ...(engine !== undefined && { engine }), ...(proxied.has(name) && { isProxied: true }) }
  })
  return [...own, ...ofVhosts]
}

function isOverlap(one: string, other: string): boolean {
  const [left, right] = [parseListenAddress(one), parseListenAddress(other)]
  return left !== undefined && right !== undefined && doAddressesOverlap(left, right)
}

/** Checks that no address gets the connections of another, which may speak TLS or have other servers. */
export function checkListen({ server }: Config, web: WebSpec, isListenGiven: boolean): Finding[] {
  const { listen, listen_tls: tls } = server
  const findings: Finding[] = []
  if (isListenGiven && tls !== undefined && isOverlap(listen, tls)) {
    const message = `"${tls}" opens the same address as server.listen "${listen}"`
    findings.push({ path: ['server', 'listen_tls'], message, hint: 'choose another port for one of them' })
  }
  const own = { ...(isListenGiven ? { listen } : {}), ...(tls === undefined ? {} : { listen_tls: tls }) }
  const ofVhosts = new Set(web.servers.flatMap((one) => one.listen.map(({ address }) => address)))
  for (const [key, name] of Object.entries(own)) {
    const { host, port } = parseListenAddress(name) ?? { host: '', port: 0 }
    const other = `[::1]:${port}`
    // Vhost files take localhost for 127.0.0.1.
    if (host.toLowerCase() !== 'localhost' || port === 0 || !ofVhosts.has(other) || ofVhosts.has(sameInVhosts(name))) continue
    const message = `"${name}" may be the same address as "${other}" of a vhost file`
    findings.push({ path: ['server', key], message, hint: `set server.${key} to "127.0.0.1:${port}" or "${other}"` })
  }
  return findings
}

/** Checks that each TLS address has an engine that can refuse the versions that it shall not speak. */
export function checkVersions(config: Config, { servers }: WebSpec, listen: readonly ListenName[]): Finding[] {
  if (config.tls.min_version !== '1.3') return []
  const hasOwn = (name: string) => defaultServer(name, servers)?.minTlsVersion !== undefined
  const address = listen.find((one) => one.isTls && engineOf(one, config) === 'uws' && !hasOwn(one.name))
  if (address === undefined) return []
  const message = `"1.3" is not available on engine "uws", which serves ${addressOfListenName(address.name)}`
  const hint = address.engine === undefined ? 'set server.engine_tls = "node"' : 'set svc_engine node in its server'
  return [{ path: ['tls', 'min_version'], message, hint }]
}
