import { isIPv6 } from 'node:net'
import { addressOfListenName, type HostPort, parseListenAddress } from '@svc/config'
import { SupervisorError } from '@svc/processes'
import type { ListenAddress } from '@svc/protocol'

const UNIX = 'unix:'

/**
 * Reads the name of a listen address.
 * @throws SUP_LISTEN
 */
export function parseAddress(name: string): HostPort {
  const address = parseListenAddress(addressOfListenName(name))
  if (address === undefined) throw new SupervisorError('SUP_LISTEN', `"${name}" is not a listen address (host:port)`)
  return address
}

/** Path of the unix socket that a listen address names, if it does. */
export function socketPath(name: string): string | undefined {
  return name.startsWith(UNIX) ? name.slice(UNIX.length) : undefined
}

/** Formats the URL of an address. */
export function addressUrl({ host, port, socket, isTls }: ListenAddress): string {
  const scheme = isTls === true ? 'https' : 'http'
  if (socket !== undefined) return `${scheme}://${UNIX}${socket}`
  return `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${port}`
}
