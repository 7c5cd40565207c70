import { addressName, type WebSpec } from '@svc/vhosts'
import type { Config } from '../schema/types.ts'
import { parseListenAddress } from '../values/addresses.ts'

/** Ends the names of own addresses whose port is chosen by the system: another address with port 0 is another address. */
const FREE_PORT_ENDINGS = { plain: '#plain', tls: '#tls' } as const

/** An address to listen on, by its name. */
export interface ListenName {
  /** `host:port`, `[v6]:port` or `unix:/path`; with port 0 there may be an ending, see `addressOfListenName`. */
  readonly name: string
  readonly isTls: boolean
}

/** The address in the name of one: two with port 0 have names of their own. */
export function addressOfListenName(name: string): string {
  const ending = Object.values(FREE_PORT_ENDINGS).find((one) => name.endsWith(`:0${one}`))
  return ending === undefined ? name : name.slice(0, -ending.length)
}

/** Under which name vhost files would have an address of the config file, so that the two are seen to be one. */
function sameInVhosts(name: string): string {
  const address = parseListenAddress(name)
  if (address === undefined || address.port === 0) return name
  return addressName(address.host === 'localhost' ? '127.0.0.1' : address.host, address.port)
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
  return [...own, ...[...names].map(([name, isTls]) => ({ name, isTls }))]
}
