import { once } from 'node:events'
import { createServer, isIPv6 } from 'node:net'
import {
  addressOfListenName,
  doAddressesOverlap,
  type EngineName,
  type HostPort,
  type ListenName,
  parseListenAddress,
} from '@svc/config'
import { codeOf, messageOf } from '@svc/core'
import { freeSocketPath, SupervisorError } from '@svc/processes'
import type { ListenAddress, ServedAddress } from '@svc/protocol'
import type { ReservedPorts } from './reserved-ports.ts'

const UNIX = 'unix:'
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EACCES: 'the port needs a privilege (CAP_NET_BIND_SERVICE)',
  EADDRNOTAVAIL: 'this machine has no such address',
}

/**
 * Reads the name of a listen address.
 * @throws SUP_LISTEN
 */
function parseAddress(name: string): HostPort {
  const address = parseListenAddress(addressOfListenName(name))
  if (address === undefined) throw new SupervisorError('SUP_LISTEN', `"${name}" is not a listen address (host:port)`)
  return address
}

/** Path of the unix socket that a listen address names, if it does. */
function socketPath(name: string): string | undefined {
  return name.startsWith(UNIX) ? name.slice(UNIX.length) : undefined
}

/** Formats the URL of an address. */
export function addressUrl({ host, port, socket, isTls }: ListenAddress): string {
  const scheme = isTls === true ? 'https' : 'http'
  if (socket !== undefined) return `${scheme}://${UNIX}${socket}`
  return `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

/**
 * Binds an address for a moment. Workers bind with SO_REUSEPORT, under which any program of the same user
 * could share a port unnoticed; a plain bind fails if another process has it.
 */
async function probe(name: string, address: HostPort): Promise<void> {
  const server = createServer()
  server.listen({ host: address.host, port: address.port, exclusive: true })
  await once(server, 'listening').catch((error: unknown) => refuse(name, error))
  server.close()
  await once(server, 'close')
}

/** @throws SUP_LISTEN */
function refuse(name: string, error: unknown): never {
  const reason = REASONS[codeOf(error) ?? ''] ?? messageOf(error)
  const data = { needsPrivilege: codeOf(error) === 'EACCES' }
  throw new SupervisorError('SUP_LISTEN', `cannot listen on ${name}: ${reason}`, { cause: error, data })
}

/** Reserves a port that is not one of `taken`: those may be free at this moment. */
async function reserve(name: string, { host }: HostPort, taken: readonly number[], ports: ReservedPorts): Promise<number> {
  let port: number
  do port = await ports.reserve(host).catch((error: unknown) => refuse(name, error))
  while (taken.includes(port))
  return port
}

/** True if an address is already open under another name or within a wildcard: a probe would only find our own socket. */
function isOursInPart(address: HostPort, held: readonly ListenAddress[]): boolean {
  return held.some((other) => other.socket === undefined && doAddressesOverlap(address, other))
}

/** An address with its engine. */
interface WantedAddress extends ListenName {
  readonly engine: EngineName
}

/**
 * Keeps an address that is already open. Another engine opens a TCP address beside the one that leaves it, but not a unix socket, of which
 * there is one only. Sockets of the service manager stay with their engine.
 */
function kept(known: ServedAddress, { name, isTls, engine, isProxied }: WantedAddress): ServedAddress {
  const refuse = (before: string, after: string) => {
    throw new SupervisorError('SUP_LISTEN', `${name} is served ${before}: it can change to ${after} only by a restart`)
  }
  if ((known.isTls === true) !== isTls) refuse(`with ${isTls ? 'plain HTTP' : 'TLS'}`, isTls ? 'TLS' : 'plain HTTP')
  if ((known.isProxied === true) !== (isProxied === true)) {
    const [without, with_] = ['plain connections', 'the PROXY protocol']
    refuse(`with ${isProxied === true ? without : with_}`, isProxied === true ? with_ : without)
  }
  if (known.engine === engine || known.fd !== undefined) return known
  if (known.socket !== undefined) refuse(`by engine ${known.engine}`, `engine ${engine}`)
  return { ...known, engine }
}

/**
 * Probes new addresses again: workers open them once a reload can no longer be aborted.
 * @throws SUP_LISTEN naming the address
 */
export async function checkStillFree(
  next: readonly ListenAddress[],
  held: readonly ListenAddress[],
  ports: ReservedPorts,
): Promise<void> {
  for (const address of next) {
    const isOpen = address.fd !== undefined || held.some(({ name }) => name === address.name)
    if (isOpen || ports.has(address.port)) continue
    if (address.socket !== undefined) await freeSocketPath(address.socket)
    else if (!isOursInPart(address, held)) await probe(address.name, address)
  }
}

/**
 * Resolves the addresses of a configuration. Those in `held` are already open and stay as they are, so that port 0 keeps its
 * port over reloads.
 * @param ports get those of new addresses with port 0
 * @throws SUP_LISTEN naming the address
 */
export async function resolveListen(
  names: readonly WantedAddress[],
  held: readonly ServedAddress[],
  ports: ReservedPorts,
): Promise<ServedAddress[]> {
  const resolved: ServedAddress[] = []
  for (const wanted of names) {
    const { name, ...parts } = wanted
    const known = held.find((address) => address.name === name)
    const socket = socketPath(name)
    if (known !== undefined) resolved.push(kept(known, wanted))
    else if (socket !== undefined) {
      await freeSocketPath(socket)
      resolved.push({ name, host: '', port: 0, socket, ...parts })
    } else {
      const address = parseAddress(name)
      const taken = [...resolved, ...held].map(({ port }) => port)
      const port = address.port === 0 ? await reserve(name, address, taken, ports) : address.port
      if (address.port !== 0 && !isOursInPart(address, held)) await probe(name, address)
      resolved.push({ name, host: address.host, port, ...parts })
    }
  }
  return resolved
}
