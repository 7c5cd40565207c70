import { isIPv6 } from 'node:net'
import { type HostPort, parseListenAddress } from '@svc/config'
import { SupervisorError } from '../errors.ts'

/**
 * Reads a listen address of the configuration.
 * @throws SUP_LISTEN
 */
export function parseAddress(text: string): HostPort {
  const address = parseListenAddress(text)
  if (address === undefined) throw new SupervisorError('SUP_LISTEN', `"${text}" is not a listen address (host:port)`)
  return address
}

/** Formats the URL of an address. */
export function addressUrl(scheme: 'http' | 'https', address: HostPort): string {
  return `${scheme}://${isIPv6(address.host) ? `[${address.host}]` : address.host}:${address.port}`
}
