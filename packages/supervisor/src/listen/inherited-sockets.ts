import { isIPv6, Socket } from 'node:net'
import { addressOfListenName, type HostPort, type ListenName, parseListenAddress } from '@svc/config'
import { messageOf } from '@svc/core'
import { SupervisorError, workerSocketFd } from '@svc/processes'
import type { ServedAddress } from '@svc/protocol'

/** A listening socket that the service manager has opened for this process. */
export interface InheritedSocket extends HostPort {
  readonly fd: number
}

type Environment = Readonly<Record<string, string | undefined>>

/** Of sd_listen_fds(3). */
const FIRST_FD = 3
const MOST_SOCKETS = 64

/** The host in one spelling. An IPv6 address has many. */
function canonical(host: string): string {
  if (host.toLowerCase() === 'localhost') return '127.0.0.1'
  const url = `http://[${host}]`
  return isIPv6(host) && URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : host.toLowerCase()
}

function isSame(one: HostPort, other: HostPort): boolean {
  return one.port === other.port && canonical(one.host) === canonical(other.host)
}

function textOf({ host, port }: HostPort): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`
}

function hostPortOf({ name }: ListenName): HostPort | undefined {
  return parseListenAddress(addressOfListenName(name))
}

/** Reads the address of a socket without accepting from it. The descriptor stays open for the life of the process. */
function socketAt(fd: number, label: string): InheritedSocket {
  const refuse = (reason: string) => {
    throw new SupervisorError('SUP_SOCKETS', `cannot use socket ${label} of the service manager: ${reason}`, {
      data: { exitCode: 78 },
    })
  }
  try {
    const socket = new Socket({ fd, readable: false, writable: false })
    const bound = socket.address()
    const { address, port } = 'address' in bound ? bound : {}
    if (address === undefined || port === undefined) return refuse('it is not a TCP socket')
    if (socket.remoteAddress !== undefined) return refuse('it is a connection (the socket unit needs Accept=no)')
    return { fd, host: address, port }
  } catch (error) {
    if (error instanceof SupervisorError) throw error
    return refuse(`it is not a TCP socket (${messageOf(error)})`)
  }
}

/**
 * Returns the sockets that the service manager has passed to the process with this id.
 * @throws SUP_SOCKETS if one is not a listening TCP socket
 */
export function readInherited(env: Environment, pid: number): InheritedSocket[] {
  if (Number(env['LISTEN_PID']) !== pid) return []
  const count = Number(env['LISTEN_FDS'])
  if (!Number.isInteger(count) || count < 0 || count > MOST_SOCKETS) {
    throw new SupervisorError('SUP_SOCKETS', `LISTEN_FDS is "${env['LISTEN_FDS']}": it must be from 0 to ${MOST_SOCKETS}`)
  }
  const names = (env['LISTEN_FDNAMES'] ?? '').split(':')
  return Array.from({ length: count }, (_, index) => socketAt(FIRST_FD + index, `${index + 1} (${names[index] || 'no name'})`))
}

/**
 * The sockets of the service manager, which outlive this process: connections wait in them while it restarts. Every worker has them from
 * its start. A worker that stops accepting on one cannot begin again.
 */
export class InheritedSockets {
  readonly #sockets: readonly InheritedSocket[]
  /** Descriptors that workers have closed. */
  readonly #closed = new Set<number>()

  constructor(sockets: readonly InheritedSocket[]) {
    this.#sockets = sockets
  }

  /** Descriptors, in the order in which workers get them. */
  get fds(): number[] {
    return this.#sockets.map(({ fd }) => fd)
  }

  /** @throws SUP_SOCKETS if a socket has no address: its clients would wait forever */
  requireAddresses(names: readonly ListenName[]): void {
    const unused = this.#sockets.filter((socket) => !names.some((name) => this.#socketOf(name, names) === socket))
    if (unused.length === 0) return
    const known = names.map(({ name }) => addressOfListenName(name)).join(', ')
    throw new SupervisorError(
      'SUP_SOCKETS',
      `systemd passed a socket for ${unused.map(textOf).join(', ')}, and the listen addresses are ${known}`,
    )
  }

  /** Returns those of the fresh addresses that have a socket. @throws SUP_SOCKETS if workers have closed it */
  take(fresh: readonly ListenName[], all: readonly ListenName[]): ServedAddress[] {
    return fresh.flatMap((name) => {
      const socket = this.#socketOf(name, all)
      if (socket === undefined) return []
      if (this.#closed.has(socket.fd)) {
        throw new SupervisorError('SUP_SOCKETS', `${name.name} is a socket of systemd that was given up: restart to use it again`)
      }
      const { host = socket.host } = hostPortOf(name) ?? {}
      return [{ ...name, engine: 'node' as const, host, port: socket.port, fd: workerSocketFd(this.#sockets.indexOf(socket)) }]
    })
  }

  /** Returns TCP addresses that have none, if others have one. */
  without(names: readonly ListenName[]): ListenName[] {
    if (this.#sockets.length === 0) return []
    return names.filter((name) => (hostPortOf(name)?.port ?? 0) !== 0 && this.#socketOf(name, names) === undefined)
  }

  /** Notes that workers serve another generation now. Returns the addresses whose sockets they have closed. */
  served(before: readonly ServedAddress[], now: readonly ServedAddress[]): ServedAddress[] {
    const left = before.filter(({ fd }) => fd !== undefined && !now.some((address) => address.fd === fd))
    for (const { fd } of left) {
      const socket = this.#sockets.find((_, index) => workerSocketFd(index) === fd)
      if (socket !== undefined) this.#closed.add(socket.fd)
    }
    return left
  }

  /** A socket on `[::]` is also that of `0.0.0.0`, as systemd opens it for a port alone, unless `[::]` is an address of its own. */
  #socketOf(name: ListenName, names: readonly ListenName[]): InheritedSocket | undefined {
    const address = hostPortOf(name)
    if (address === undefined) return undefined
    const exact = this.#sockets.find((socket) => isSame(socket, address))
    if (exact !== undefined || address.host !== '0.0.0.0') return exact
    const wide = { host: '::', port: address.port }
    const isTaken = names.some((other) => isSame(hostPortOf(other) ?? { host: '', port: 0 }, wide))
    return isTaken ? undefined : this.#sockets.find((socket) => isSame(socket, wide))
  }
}
