import type { Config } from '../types.ts'
import { parseListenAddress } from '../values/listen-address.ts'
import type { WebSpec } from '../vhosts/spec.ts'
import { addressName } from '../vhosts/values/listen.ts'

/** An address to listen on, by its name. */
export interface ListenName {
  /** `host:port`, `[v6]:port` or `unix:/path`. */
  readonly name: string
  readonly isTls: boolean
}

/** Under which name vhost files would have an address of the config file, so that the two are seen to be one. */
function sameInVhosts(name: string): string {
  const address = parseListenAddress(name)
  if (address === undefined || address.port === 0) return name
  return addressName(address.host === 'localhost' ? '127.0.0.1' : address.host, address.port)
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
    if (shared === undefined) own.push({ name, isTls })
    else names.set(sameInVhosts(name), shared || isTls)
  }
  const isAlone = names.size === 0 && server.listen_tls === undefined
  if (isListenGiven || isAlone) add(server.listen, false)
  if (server.listen_tls !== undefined) add(server.listen_tls, true)
  return [...own, ...[...names].map(([name, isTls]) => ({ name, isTls }))]
}
