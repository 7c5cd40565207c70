import { isIPv6 } from 'node:net'
import type { HostPort, ListenName } from '@svc/config'

const WILDCARDS: readonly string[] = ['0.0.0.0', '::']

/** Makes the socket unit of these addresses. Undefined if none is a TCP address with a port: the server opens the others itself. */
export async function socketUnitFile(listen: readonly ListenName[]): Promise<string | undefined> {
  const { addressOfListenName, parseListenAddress } = await import('@svc/config')
  const addresses = listen
    .flatMap(({ name }) => parseListenAddress(addressOfListenName(name)) ?? [])
    .filter(({ port }) => port !== 0)
  if (addresses.length === 0) return undefined
  const hasBoth = ({ port }: HostPort) =>
    WILDCARDS.every((host) => addresses.some((one) => one.host === host && one.port === port))
  return [
    '[Unit]',
    'Description=sockets of the svc web application server',
    '',
    '[Socket]',
    ...addresses.map(({ host, port }) => `ListenStream=${isIPv6(host) ? `[${host}]` : literal(host)}:${port}`),
    // A socket on [::] takes IPv4 too, and would be in the way of one on 0.0.0.0.
    `BindIPv6Only=${addresses.some(hasBoth) ? 'ipv6-only' : 'both'}`,
    'Backlog=65535',
    'FileDescriptorName=svc',
    '',
    '[Install]',
    'WantedBy=sockets.target',
  ].join('\n')
}

/** systemd takes addresses only. */
function literal(host: string): string {
  return host.toLowerCase() === 'localhost' ? '127.0.0.1' : host
}
